"""Which kind of work an instruction is: the groups of NVIDIA's instruction tables.

Groups follow "CUDA Binary Utilities", Instruction Set Reference (Turing to Blackwell), with
arithmetic divided by the unit that does it and loads and stores by the memory that they reach.
"""

from __future__ import annotations

from placewise.kernel.binary.sass.instruction import Immediate, Instruction, Register

_GROUPS = {
    "fp32": "FADD FADD32I FADD2 FCHK FFMA FFMA32I FFMA2 FMNMX FMNMX3 FMUL FMUL32I FMUL2 FSEL FSET "
    "FSETP FSWZADD FHADD FHFMA",
    "special function": "MUFU",
    "fp16": "HADD2 HADD2_32I HFMA2 HFMA2_32I HMNMX2 HMUL2 HMUL2_32I HSET2 HSETP2 VHMNMX",
    "fp64": "DADD DFMA DMNMX DMUL DSET DSETP",
    "tensor": "BGMMA BMMA DMMA HGMMA HMMA IGMMA IMMA OMMA QGMMA QMMA WARPGROUP WARPGROUPSET "
    "UTCBAR UTCCP UTCHMMA UTCIMMA UTCOMMA UTCQMMA UTCSHIFT",
    "integer": "BMSK BREV FLO IABS IADD IADD3 IADD32I IDP IDP4A IMAD IMNMX IMUL IMUL32I ISCADD "
    "ISCADD32I ISETP LEA LOP LOP3 LOP32I POPC SHF SHL SHR VABSDIFF VABSDIFF4 VIADD VIADDMNMX "
    "VIMNMX VIMNMX3 XMAD",
    "conversion": "F2F F2FP F2I F2IP FRND I2F I2FP I2I I2IP",
    "movement": "MOV MOV32I MOVM PRMT SEL SGXT",
    "warp exchange": "MATCH REDUX SHFL VOTE CREDUX",
    "predicate": "P2R PLOP3 PSETP R2P CSETP",
    "global": "LD LDG LDGMC LDGSTS ST STG MATCH_LD UBLKCP UBLKPF UBLKRED UTMALDG UTMASTG UTMAREDG",
    "global atomic": "ATOM ATOMG RED REDG",
    "shared": "LDS LDSM STAS STS STSM",
    "shared atomic": "ATOMS REDAS",
    "local": "LDL STL",
    "constant": "LDC LDCU ULDC",
    "texture": "FOOTPRINT TEX TLD TLD4 TMML TXD TXQ",
    "surface": "SUATOM SUCLAMP SULD SUQUERY SURED SUST",
    "control": "BMOV BPT BRA BREAK BRX BRXU BSSY BSYNC CALL EXIT JMP JMX JMXU KILL PREEXIT RET "
    "RPCMOV RTT YIELD ACQBULK ENDCOLLECTIVE NOP",
    "synchronisation": "ARRIVES BAR CCTL CCTLL CCTLT CGAERRBAR DEPBAR ELECT ERRBAR FENCE LDGDEPBAR "
    "LDTM MEMBAR NANOSLEEP QSPC SYNCS UCGABAR_ARV UCGABAR_WAIT UTMACMDFLUSH UTMACCTL WARPSYNC",
    "special register": "B2R CS2R CS2UR R2B S2R S2UR SETCTAID",
}
_GROUP_OF = {opcode: group for group, opcodes in _GROUPS.items() for opcode in opcodes.split()}
_UNIFORM = "uniform"
_OTHER = "other"


def group(opcode: str) -> str:
    """Group of an opcode, with or without its modifiers; ``other`` where it is not known."""
    base = opcode.split(".", 1)[0]
    known = _GROUP_OF.get(base)
    if known is not None:
        return known
    return _UNIFORM if base.startswith("U") or base == "R2UR" else _OTHER


def group_of(instruction: Instruction) -> str:
    """Group of an instruction by what it does: as :func:`group`, but an HFMA2 that only moves its
    literal, which compilers write to spare another pipe, is no half-precision arithmetic."""
    return "movement" if moves_literal(instruction) else group(instruction.opcode)


def moves_literal(instruction: Instruction) -> bool:
    """Whether it is an HFMA2 whose factors are zeros, so that it moves its literal."""
    if instruction.parts[0] not in ("HFMA2", "HFMA2_32I"):
        return False
    factors, literal = instruction.operands[1:3], instruction.operands[3:]
    return (
        len(literal) == 2
        and all(isinstance(f, Register) and f.number is None and not f.inverted for f in factors)
        and isinstance(literal[0], Immediate)
    )


def groups() -> tuple[str, ...]:
    """All groups, in the order in which they are reported."""
    return (*_GROUPS, _UNIFORM, _OTHER)


def without_padding(instructions: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
    """The instructions without the NOPs that fill up the section and are never reached."""
    end = len(instructions)
    while end and instructions[end - 1].opcode == "NOP":
        end -= 1
    return instructions[:end]
