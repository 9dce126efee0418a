from .folder_results import FolderComparison as FolderComparison
from .folders import compare_folders as compare_folders
from .images import compare_images as compare_images
from .results import ImageComparison as ImageComparison, Verdict as Verdict
