"""The bundled machines say what their sources say, and Fig. 4 of the paper loads as printed."""

from importlib import resources
from pathlib import Path

import pytest

from placewise.machine import load_machine, machine_names, parse_machine
from placewise.machine.machine import Machine
from placewise.space import MemorySpace, Way

# Chen et al. 2017, Table 3: Constant cL2 cL1 Global gL2 gL1 Read-only Texture tL2 tL1 Shared.
TABLE_3 = {
    "K20c": (250, 120, 48, 345, 222, None, 141, 351, 222, 103, 48),
    "M2075": (360, 140, 48, 600, 390, 80, None, 617, 390, 208, 48),
    "C1060": (545, 130, 56, 548, None, None, None, 546, 366, 251, 38),
}

FIG_4 = """\
Mem spec of Tesla M2075:
die = 1 tpc; tpc = 16 sm; sm = 32 core;
globalMem 8 Y rw na 5375M 128B ? 600clk <L2 L1> <> die <0.1 0.5> warp{⌊address1/blockSize⌋ != ⌊address2/blockSize⌋};
L1 9 N rw na 16K 128B ? 80clk <> <L2 globalMem> sm ? warp{⌊address1/blockSize⌋ != ⌊address2/blockSize⌋};
L2 7 N rw na 768K 32B ? 390clk om om die ? warp{⌊address1/blockSize⌋ != ⌊address2/blockSize⌋};
constantMem 1 Y r na 64K ? ? 360clk <cL2 cL1> <> die ? warp{address1 != address2};
cL1 3 N r na 4K 64B ? 48clk <> <cL2 constantMem> sm ? warp{⌊address1/blockSize⌋ != ⌊address2/blockSize⌋};
cL2 2 N r na 32K 256B ? 140clk <cL1> <cL2 constantMem> die ? warp{⌊address1/blockSize⌋ != ⌊address2/blockSize⌋};
sharedMem 4 Y rw na 48K ? 32 48clk <> <> sm ? block{word1 \\neq word2 && word1 % banks == word2 % banks};
"""  # noqa: E501


def latencies(machine, space):
    return [memory.latency_cycles for memory in machine.levels(space)]


@pytest.mark.parametrize("name", TABLE_3)
def test_latencies_are_those_of_table_3(name):
    machine = load_machine(name)
    constant, c2, c1, dram, g2, g1, read_only, texture, t2, t1, shared = TABLE_3[name]
    assert latencies(machine, "constant") == [c1, c2, constant]
    assert latencies(machine, "global") == [x for x in (g1, g2, dram) if x is not None]
    assert latencies(machine, "texture") == [t1, t2, texture]
    assert latencies(machine, "shared") == [shared]
    if read_only is None:
        assert "readonly" not in [space.name for space in machine.spaces]
    else:
        assert latencies(machine, "readonly") == [read_only, g2, dram]


@pytest.mark.parametrize("name", machine_names())
def test_bundled_files_load_without_warnings(name):
    machine = load_machine(name)
    assert machine.warnings == ()
    assert machine.name == name
    assert load_machine(name.lower()) == machine


@pytest.mark.parametrize("name", machine_names())
def test_every_figure_has_a_source(name):
    machine = load_machine(name)
    for memory in machine.memories:
        figures = {"size", "latency", "concurrencyFactor", "serialCondition"}
        figures |= {"blockSize"} if memory.block_bytes else set()
        figures |= {"banks"} if memory.banks else set()
        assert figures <= {field for field, _ in memory.sources}, memory.name
    assert len(machine.limits.sources) >= 13
    assert {field for field, _ in machine.processor.sources} == {"die", "tpc", "sm"}


@pytest.mark.parametrize("name", machine_names())
def test_every_placement_makes_sense(name):
    machine = load_machine(name)
    assert {s.letter for s in machine.spaces} <= set("GRLENKUVWOPTQCS")
    for space in machine.spaces:
        *caches, home = machine.levels(space.name)
        assert home.software_managed
        assert all(not cache.software_managed for cache in caches)
        kept = space.way in (Way.DIRECT, Way.KERNEL_BUFFER) or space.is_cache_hint
        assert space.writable == kept
    shared = machine.levels("shared")[-1]
    assert shared.size_bytes == machine.limits.shared_bytes_per_block
    assert machine.levels("constant")[-1].size_bytes == 65536


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("C1060", {"global": "GS", "texture": "T", "constant": "C"}),
        ("M2075", {"global": "GS", "texture": "T", "constant": "C"}),
        ("K20c", {"global": "GS", "texture": "QRT", "constant": "C"}),
        ("A100", {"global": "EGKLNOPQRSTUVW", "constant": "C"}),
        ("A4000", {"global": "EGKLNOPQRSTUVW", "constant": "C"}),
        ("RTX2080Ti", {"global": "EGKLNQRSTUV", "constant": "C"}),
        ("RTX3090", {"global": "EGKLNOPQRSTUVW", "constant": "C"}),
        ("T1000", {"global": "EGKLNQRSTUV", "constant": "C"}),
        ("V100", {"global": "EGKLNQRST", "constant": "C"}),
        ("H100", {"global": "EGKLNOPQRSTUVW", "constant": "C"}),
        ("H200", {"global": "EGKLNOPQRSTUVW", "constant": "C"}),
    ],
)
def test_data_paths(name, paths):
    found: dict[str, str] = {}
    for space in sorted(load_machine(name).spaces, key=lambda s: s.letter):
        found[space.path] = found.get(space.path, "") + space.letter
    assert found == paths


@pytest.mark.parametrize("name", machine_names())
def test_concurrency_factors_of_the_experiments(name):
    for memory in load_machine(name).memories:
        constant = memory.name in ("constantMem", "cL1", "cL2")
        assert memory.concurrency == ((1.0, 1.0) if constant else (0.2, 0.2))


@pytest.mark.parametrize(
    ("name", "sms", "cores", "threads", "shared", "registers"),
    [
        ("C1060", 30, 240, 1024, 16, 16384),
        ("M2075", 14, 448, 1536, 48, 32768),
        ("K20c", 13, 2496, 2048, 48, 65536),
        ("A100", 108, 6912, 2048, 163, 65536),
        ("A4000", 48, 6144, 1536, 99, 65536),
        ("RTX2080Ti", 68, 4352, 1024, 64, 65536),
        ("RTX3090", 82, 10496, 1536, 99, 65536),
        ("T1000", 14, 896, 1024, 64, 65536),
        ("V100", 80, 5120, 2048, 96, 65536),
        ("H100", 132, 16896, 2048, 227, 65536),
        ("H200", 132, 16896, 2048, 227, 65536),
        # NVIDIA's data sheets and specifications.
        ("GH200", 132, 16896, 2048, 227, 65536),
        ("RTX3080", 68, 8704, 1536, 99, 65536),
        ("RTX3060Ti", 38, 4864, 1536, 99, 65536),
        ("RTX3070Ti", 48, 6144, 1536, 99, 65536),
        ("RTX3060_Laptop", 30, 3840, 1536, 99, 65536),
        ("RTX2070", 36, 2304, 1024, 64, 65536),
        ("RTX2070_Laptop", 36, 2304, 1024, 64, 65536),
        ("RTX2060", 30, 1920, 1024, 64, 65536),
        ("TitanRTX", 72, 4608, 1024, 64, 65536),
        ("RTX4090", 128, 16384, 1536, 99, 65536),
        ("RTX4090_Laptop", 76, 9728, 1536, 99, 65536),
        ("RTX5090", 170, 21760, 1536, 99, 65536),
        ("A10", 72, 9216, 1536, 99, 65536),
        ("L4", 58, 7424, 1536, 99, 65536),
    ],
)
def test_composition_and_limits(name, sms, cores, threads, shared, registers):
    machine = load_machine(name)
    assert machine.processor.sms == sms
    assert machine.processor.sms * machine.processor.cores_per_sm == cores
    assert machine.limits.max_threads_per_sm == threads
    assert machine.limits.shared_bytes_per_block == shared * 1024
    assert machine.limits.registers_per_sm == registers


# Peak FP32 rates of the data sheets: two operations a core and cycle at the boost clock.
@pytest.mark.parametrize(
    ("name", "tflops"),
    [
        ("RTX3080", 29.8),
        ("RTX3060Ti", 16.2),
        ("RTX3070Ti", 21.7),
        ("RTX2070", 7.5),
        ("TitanRTX", 16.3),
        ("RTX4090", 82.6),
        ("RTX5090", 104.8),
        ("A10", 31.2),
        ("L4", 30.3),
        ("GH200", 67.0),
    ],
)
def test_peak_rate_is_the_data_sheet_s(name, tflops):
    machine = load_machine(name)
    cores = machine.processor.sms * machine.processor.cores_per_sm
    assert 2e-6 * cores * machine.limits.clock_mhz == pytest.approx(tflops, rel=0.01)


@pytest.mark.parametrize("name", machine_names())
def test_the_base_clock_is_below_the_highest(name):
    limits = load_machine(name).limits
    assert limits.clock_mhz is not None
    assert (limits.clock_base_mhz or 0.0) < limits.clock_mhz


class TestFigure4:
    machine: Machine = parse_machine(FIG_4, "fig4.msl")

    def test_name_and_title(self):
        assert (self.machine.name, self.machine.title) == ("fig4", "Tesla M2075")

    def test_omitted_levels_follow_from_other_entries(self):
        l2 = self.machine.memory("L2")
        assert (l2.upper, l2.lower) == (("L1",), ("globalMem",))

    def test_a_memory_below_itself_is_left_out(self):
        assert self.machine.memory("cL2").lower == ("constantMem",)
        assert any("beside itself" in warning for warning in self.machine.warnings)

    def test_lower_case_and_sizes(self):
        memory = self.machine.memory("globalMem")
        assert memory.writable
        assert memory.size_bytes == 5375 * 1024 * 1024
        assert memory.concurrency == (0.1, 0.5)
        assert not self.machine.memory("constantMem").writable

    def test_spaces_are_inferred(self):
        found = {space.letter: space for space in self.machine.spaces}
        assert set(found) == set("GCS")
        assert found["G"].levels == ("L1", "L2", "globalMem")
        assert found["C"] == MemorySpace(
            "constant", "C", Way.HOST_BUFFER, ("cL1", "cL2", "constantMem"), "constant",
            writable=False, declaration="__constant__",
        )  # fmt: skip

    def test_each_departure_is_warned_of_at_its_place(self):
        warnings = self.machine.warnings
        assert any(w.startswith("fig4.msl:1:1: a title line") for w in warnings)
        assert any(w.startswith("fig4.msl:3:15: 'rw' should be 'RW'") for w in warnings)
        assert any(w.startswith("fig4.msl:3:21: size 5375M has neither") for w in warnings)
        assert any(w.startswith("fig4.msl:8:39: cL2 is listed beside itself") for w in warnings)
        assert any("limits not given" in w for w in warnings)

    def test_completed_it_is_the_bundled_file(self):
        bundled = load_machine("M2075")
        for memory in self.machine.memories:
            mended = bundled.memory(memory.name)
            for figure in ("id", "size_bytes", "block_bytes", "banks", "latency_cycles"):
                assert getattr(mended, figure) == getattr(memory, figure), memory.name
            # Hardware serves different addresses of a constant load one after another.
            wanted = bundled.memory("constantMem") if memory.name == "cL1" else memory
            assert mended.condition == wanted.condition
        assert bundled.processor.sms == 14

    def test_missing_level_list_and_factor_as_in_the_paper_s_copy(self):
        text = FIG_4.replace("<L2 L1> <> die", "<L2 L1> die").replace(
            "<> <> sm ? block", "<> sm block"
        )
        machine = parse_machine(text, "fig4.msl")
        assert machine.memories == self.machine.memories
        assert sum("one level list" in w for w in machine.warnings) == 2
        assert sum("no concurrency factor" in w for w in machine.warnings) == 1


def small(memory, extra=""):
    return parse_machine(
        f"die = 1 tpc; tpc = 1 sm; sm = 1 core; {extra}\n"
        f"globalMem 1 Y RW na {memory} <> <> die ? warp{{address1 != address2}};",
        "small.msl",
    ).memory("globalMem")


def test_units():
    assert small("3KB ? ? 5clk").size_bytes == 3072
    assert small("2GB ? ? 5clk").size_bytes == 2 * 1024**3
    assert small("1TB ? ? 5clk").size_bytes == 1024**4
    elements = small("16ME ? ? 5clk")
    assert (elements.size_elements, elements.size_bytes) == (16 * 1024**2, None)
    assert small("<4E 8E> ? ? 5clk").size_elements == 32
    assert small("1KB <8B 2E> ? 5clk").block_bytes == 16


def test_latencies():
    reads_and_writes = small("1KB ? ? <5clk 7clk>")
    assert reads_and_writes.latency_cycles == 5
    assert reads_and_writes.write_latency_cycles == 7
    clock = "limits { clock = 2 GHz; }"
    assert small("1KB ? ? 350ns", clock).latency_cycles == pytest.approx(700)
    assert small("1KB ? ? 1.5us", clock).latency_cycles == pytest.approx(3000)


def test_unknown_stays_unknown():
    memory = small("? ? ? 5clk")
    assert (memory.size_bytes, memory.block_bytes, memory.banks) == (None, None, None)
    assert (memory.concurrency, memory.dim) == (None, None)


def test_levels_by_id_and_comments():
    machine = parse_machine(
        """/* a machine
           of two memories */
        die = 1 tpc; tpc = 1 sm; sm = 1 core; // small
        globalMem 1 Y RW na ? 32B ? 5clk om <> die ? warp{address1 != address2};
        cache 2 N om na 1KB 32B ? 2clk <> <1> sm ? ?;""",
        "ids.msl",
    )
    assert machine.memory("cache").lower == ("globalMem",)
    assert machine.memory("globalMem").upper == ("cache",)
    assert machine.memory("cache").writable, "om: as the memory below"
    assert any("cache has no serialization condition" in w for w in machine.warnings)


def test_sources_reach_the_machine():
    machine = load_machine("A100")
    sources = dict(machine.memory("L1").sources)
    assert sources["size"].startswith("mt4g topology of an NVIDIA A100-PCIE-40GB")
    assert "36.0 cycles" in sources["latency"]
    assert dict(machine.limits.sources)["dram_bandwidth"].startswith("NVIDIA, A100")


def test_a_file_of_the_user_s_own(tmp_path):
    text = resources.files("placewise.machine").joinpath("files", "A100.msl").read_text("utf-8")
    path = tmp_path / "mine.msl"
    path.write_text(text.replace("machine A100", "machine Mine"), "utf-8")
    machine = load_machine(str(path))
    assert machine.name == "Mine"
    assert machine.spaces == load_machine("A100").spaces


def test_the_example_of_the_documentation_loads():
    documentation = (Path(__file__).parents[2] / "docs" / "reference" / "msl.md").read_text("utf-8")
    example = documentation.split("## A whole file")[1].split("```")[1]
    machine = parse_machine(example, "small.msl")
    assert machine.processor.sms == 4
    assert [space.letter for space in machine.spaces] == ["G", "S"]
    assert dict(machine.memory("globalMem").sources)["size"].endswith("Guide 12, Table 1")
