"""Questions with known answers, in the form of AgenticIQA-Eval: planner, distortion, tool and summarizer."""
