"""The pages, one a module: each gathers its tables, and a template lays them out."""
