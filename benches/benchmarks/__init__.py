"""asv benchmarks of every hot loop: time, memory, accuracy, iterations and acceptance.

    cd benches && asv run --quick --python=same

``workloads`` holds their inputs.
"""
