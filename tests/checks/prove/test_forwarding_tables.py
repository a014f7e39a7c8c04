"""Tables as OpenSM 3.3.23 dumps them: LIDs in hexadecimal, ports in decimal digits, a block for each switch."""

from pathlib import Path

from clusterwright.checks.prove.fabric.subnet_manager import _tables

_DUMP = """Unicast lids [0-49151] of switch Lid 2 guid 0x0000000000100000 ('leaf-01-1'):
0x0001 001 # Channel Adapter portguid 0x0000000001000001: 'node0001 1'
0x0002 000 # Switch portguid 0x0000000000100000: 'leaf-01-1'
0x00da 254 # Channel Adapter portguid 0x0000000001010001: 'node0513 1'
0xbfff 064 # Channel Adapter portguid 0x00000000010af001: 'node0514 1'
5 lids dumped
Unicast lids [0-49151] of switch Lid 3 guid 0x0000000000100100 ('spine-001'):
0x0001 033 # Channel Adapter portguid 0x0000000001000001: 'node0001 1'
0x00da UNREACHABLE
0x0fff 010 # Channel Adapter portguid 0x0000000001020001: 'node0999 1'
"""


def test_every_line_of_every_switch_is_read(tmp_path: Path) -> None:
    """LIDs of all digits up to the largest unicast LID; what a switch does not reach, or does not list, has no port."""
    dump = tmp_path / "opensm-lfts.dump"
    dump.write_text(_DUMP)
    lid_of, out_port = _tables(dump)
    assert lid_of == {0x1000001: 1, 0x100000: 2, 0x1010001: 0xDA, 0x10AF001: 0xBFFF, 0x1020001: 0xFFF}
    read = {
        guid: {lid: int(port) for lid, port in enumerate(ports.tolist()) if port >= 0}
        for guid, ports in out_port.items()
    }
    assert read == {0x100000: {1: 1, 2: 0, 0xDA: 254, 0xBFFF: 64}, 0x100100: {1: 33, 0xFFF: 10}}
    assert {ports.size for ports in out_port.values()} == {0xC000}
