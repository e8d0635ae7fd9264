"""The demonstration: a made-up study, loaded, judged by a real worker, reported and served."""
