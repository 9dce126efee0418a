from .folder_pairs import compare_folders as compare_folders, compare_images as compare_images
from .results import FolderComparison as FolderComparison, ImageComparison as ImageComparison, Verdict as Verdict
