"""What native code and the runtime agree on: the run record, and the names of what is linked in.

Every native function that may fail, start parallel work or be interrupted gets a pointer to the run
record of the call it belongs to: 64-bit words at the positions below.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Run(IntEnum):
    """Positions of the words of a run record."""

    THREADS = 0  # how many threads this call may use
    ERROR = 1  # 0, or 1 + the number of the failure site that failed first, or one of `Failed`
    DETAIL0 = 2  # what the site says of the failure, such as the index and the size
    DETAIL1 = 3
    DETAIL2 = 4
    STOP = 5  # not 0 once loops should end early: an error or an interrupt
    POLL = 6  # address of poll(run): called now and then by long loops, may set STOP
    HOST = 7  # address of host(run, site, operands, results): calls back into Python
    PROGRAM = 8  # the runtime's own mark of the program
    CLOCK = 9  # cycle count at the last poll
    POOL = 10  # address of the thread pool's state; 0: everything runs on the caller's thread
    INSIDE = 11  # not 0 while a parallel region of this call runs
    SHARED = 12  # address of the runtime's own table, see `Shared`
    ARENA_BYTES = 13  # of the memory for intermediate values and for what nodes work in


RUN_WORDS: Final = 16


class Failed(IntEnum):
    """Values of `Run.ERROR` that no site of the program has."""

    INTERRUPTED = -1  # a signal handler raised; the Python exception is pending
    RESULT_MEMORY = -2  # no memory for result DETAIL0, which needs DETAIL1 bytes
    ARENA_MEMORY = -3  # no memory for DETAIL1 bytes of intermediate values
    WORKSPACE_MEMORY = -4  # no memory for DETAIL1 bytes that an op works in
    COPY_MEMORY = -5  # no memory for DETAIL1 bytes of copies of arguments


# weft_parallel(run, task, data, count, grain): runs task(run, data, begin, end) on disjoint ranges
# that cover 0 to count, each a multiple of grain long but the last, on several threads at once;
# returns when all are done. Tasks may not depend on how the ranges fall.
PARALLEL: Final = "weft_parallel"

# A table of the addresses of a program's constants, and one of the cycles its nodes took.
CONSTANTS: Final = "weft_constants"
CLOCKS: Final = "weft_clocks"

# The functions of a program, see `lower.llvm.program`; not all have the last.
ENTRY: Final = "entry"
ARENA_BYTES: Final = "arena_bytes"
MEASURE: Final = "measure"

# How the routines of SciPy's libraries begin: their names in Fortran follow.
SCIPY: Final = "scipy_"
LIBRARIES: Final = {"blas": f"{SCIPY}blas_", "lapack": f"{SCIPY}lapack_"}

# Memory with the words of `BlasThreads`, which all programs of a process share.
BLAS_THREADS: Final = f"{SCIPY}openblas_threads"


class BlasThreads(IntEnum):
    """Positions of the words with which calls of BLAS agree on its number of threads: the first one
    at work sets it, the last one sets it back. One that needs to be on one thread lets all
    be, until the last one ends.
    """

    LOCK = 0  # 1 while the other words are read and written
    USERS = 1  # how many calls are at work
    BEFORE = 2  # how many threads BLAS had before these
    GET = 3  # address of get(), as 32-bit integer
    SET = 4  # address of set(number); 0: the number of threads cannot be set


class Pool(IntEnum):
    """Positions of the 64-bit words of a thread pool's state, far apart where several threads
    write; the slots of callers at work follow at `SLOTS`.
    """

    BELL = 0  # changes whenever there is new work
    SLEEPERS = 16  # how many workers wait for the bell
    OWNERS = 32  # how many callers have work here
    WORKERS = 48  # how many workers there are
    SPIN = 49  # how often a thread looks again before it sleeps
    CLOSING = 50  # not 0 once workers should return
    MOST = 51  # how many workers the system allows
    IDLE_QUEUE = 64  # where workers sleep
    CALLER_QUEUE = 96  # where callers sleep until the last worker has left their work
    SLOTS = 128


POOL_SLOTS: Final = 16  # how many callers can share the workers
POOL_SLOT_WORDS: Final = 48
POOL_WORDS: Final = Pool.SLOTS + POOL_SLOTS * POOL_SLOT_WORDS
MOST_WORKERS: Final = 1023

POOL_INIT: Final = "weft_pool_init"  # (pool): an empty pool, whatever the memory held
POOL_WORKER: Final = "weft_pool_worker"  # (pool): a worker's life, until CLOSING
POOL_RING: Final = "weft_pool_ring"  # (pool): wake all workers
POOL_SPIN: Final = "weft_pool_spin"  # (word, value, limit): for measuring how long a look takes
POOL_EXPORTS: Final = (PARALLEL, POOL_INIT, POOL_WORKER, POOL_RING, POOL_SPIN)


class Memory(IntEnum):
    """Positions of the words of the allocator's state; blocks that wait to be used again follow at
    `KEPT`, each with `KeptBlock`. Whoever calls the allocator holds the GIL.
    """

    LIMIT = 0  # how many bytes may be kept
    TOTAL = 1  # how many are
    CLOCK = 2  # counts the blocks that were ever kept
    KEPT = 3


class KeptBlock(IntEnum):
    """Positions of the words of a kept block."""

    ADDRESS = 0
    CAPACITY = 1  # 0: this place is empty
    TIME = 2


MEMORY_KEPT: Final = 16
MEMORY_WORDS: Final = Memory.KEPT + MEMORY_KEPT * len(KeptBlock)
MEMORY_LARGE: Final = 1 << 25  # bytes of the smallest block that is kept

MEMORY_NEW: Final = "weft_memory_new"  # (memory, bytes): a block aligned to 64, or null
MEMORY_TRIM: Final = "weft_memory_trim"  # (memory, limit): keep no more bytes than that
# What NumPy calls for arrays of this memory; the first parameter is the allocator's state.
MEMORY_HANDLER: Final = (
    "weft_memory_new",
    "weft_memory_calloc",  # (memory, count, size)
    "weft_memory_realloc",  # (memory, block, bytes)
    "weft_memory_free",  # (memory, block, bytes)
)


class Shared(IntEnum):
    """Positions of the words of the table that all calls of a process share: addresses of Python
    objects and of the runtime's state.
    """

    MEMORY = 0
    MEMORY_OBJECT = 1  # NumPy's handler for this memory, a capsule
    POOL = 2
    MAIN_THREAD = 3  # the number of the thread that runs signal handlers
    THREADS_CHOSEN = 4  # a ContextVar
    THREADS_DEFAULT = 5  # address of a word; 0 there: not yet known
    THREADS_PREPARE = 6  # callable: makes sure of the workers, returns how many threads to use
    ARRAY = 7  # types of Python objects, from here on
    DICT = 8
    LIST = 9
    FLOAT = 10
    INT = 11
    BOOL = 12
    COMPLEX = 13
    TRUE = 14
    NONE = 15


class Stub(IntEnum):
    """Positions of the first words of a descriptor: what one program takes and gives.

    `*_AT` are positions in the frame of a call: words for the run record, the objects met, the
    addresses of the data, the numbers, and so on. Offsets of code are positions in the descriptor.
    """

    ENTRY = 0
    FLAGS = 1  # of `StubFlag`
    MISS = 2  # the object that is returned when the arguments are of another kind
    FALLBACK = 3  # or 0; called with the arguments instead of returning MISS
    ON_ERROR = 4  # callable: raises, given the run record as bytes
    SHARED = 5
    HOST = 6
    PROGRAM = 7
    ARENA_BYTES = 8
    ARENA_FUNCTION = 9  # or 0; size(numbers) in bytes
    ARGUMENTS = 10  # how many there are
    NAMES = 11  # offset of the arguments' names, addresses of str objects
    OBJECTS = 12  # how many objects are looked at: the arguments, then what is inside them
    OBJECTS_AT = 13
    DATA_AT = 14  # the entry's arguments
    NUMBERS_AT = 15
    RESULTS = 16
    POINTERS_AT = 17  # the entry's results
    RESULTS_AT = 18  # the arrays
    DIMS_AT = 19
    STACK_AT = 20
    FRAME = 21  # how many words a frame has
    POSITIONAL = 22  # how many arguments may come by position
    CHECK_CODE = 23
    RESULT_CODE = 24
    TREE_CODE = 25  # 0: the only result is returned as it is
    DONATED_CODE = 26  # 0: nothing is written over
    ARGUMENT_CODE = 27


# A word of the frame: the address of the note on the last array met that has to be copied, or 0. A
# note is two words: the address of the note before it, and that of the array's instruction.
NOTES_AT: Final = RUN_WORDS


class StubFlag(IntEnum):
    """What a program needs of its calls."""

    RELEASE = 1  # lets other Python threads run meanwhile
    PARALLEL = 2  # has parallel regions


class Take(IntEnum):
    """Instructions that take arguments apart. Each word after the first is an operand; `slot` is
    the place of an object in the frame.
    """

    DONE = 0
    SAME = 1  # slot, object, `Same`: it is that object, or equal to it
    TUPLE = 2  # slot, type, length, first slot of the items
    LIST = 3  # slot, length, first slot of the items
    DICT = 4  # slot, length; each key and the slot of its value, in their order in the dict
    SCALAR = 5  # slot, `Scalar`, `Store`, bits, data at, value at
    NUMPY_SCALAR = 6  # slot, type, data at
    ARRAY = 7  # `Taken`
    STRIDE = 8  # slot of an array, axis, item size, number at, 1: it is neither 0 nor 1
    GIVEN = 9  # data at, count, addresses: of arrays that are no arguments
    FIELDS = 10  # slot, type, count, first slot of the values, names of attributes
    HELD = 11  # slot, type, bytes to the array it holds, attribute that computes it, array's slot


class Taken(IntEnum):
    """Positions of the words of an instruction that takes an array; two for each axis follow.

    An array that cannot be passed as it is gets the address 0 and a note. Copies are made once all
    arguments match.
    """

    SLOT = 1
    DATA_AT = 2
    DTYPE = 3
    KINDS = 4  # of dtype, a mask
    REQUIRED = 5  # flags of an array that is passed as it is
    AVOIDED = 6  # flags; 0, or else the array has none of them and more than LEAST bytes
    LEAST = 7
    COPIED = 8  # bytes of the largest array that is copied if it is not passed as it is; -1: none
    COPIED_ODD = 9  # the same for arrays that are misaligned or have bytes in the other order
    ITEM = 10  # bytes of an element
    UNIT = 11  # bytes of what changes places in the other order of bytes
    NOTE_AT = 12
    RANK = 13
    AXES = 14


class Same(IntEnum):
    """When an argument counts as the object that is expected."""

    IDENTICAL = 0
    EQUAL = 1  # of the same type and equal
    FLOAT = 2  # floats of the same bits


class Scalar(IntEnum):
    """Python's types of numbers."""

    FLOAT = 0
    INT = 1
    BOOL = 2
    COMPLEX = 3


class Store(IntEnum):
    """How a number is stored: with the bits of the instruction."""

    FLOAT = 0
    SIGNED = 1
    UNSIGNED = 2
    COMPLEX = 3


class Extent(IntEnum):
    """What an array's size along an axis has to be; a word beside it says which."""

    EQUAL = 0  # to a constant
    BIND = 1  # anything: it becomes the number at a place of the frame
    MATCH = 2  # the number at a place of the frame
    ANY = 3  # a check comes later


class Check(IntEnum):
    """Instructions that check sizes once all symbols have their values."""

    DONE = 0
    BOUNDS = 1  # number at, lower, upper
    EXTENT = 2  # slot of an array, axis, size code
    STRIDE = 3  # slot of an array, axis, bytes; any stride will do along an axis of size 1 or 0


class Size(IntEnum):
    """Instructions of a size: their count comes first, each has one operand, on a stack."""

    CONSTANT = 0
    NUMBER = 1  # at a place of the frame
    ADD = 2
    MULTIPLY = 3
    DIVIDE = 4  # rounded down; the divisor is positive
    MAXIMUM = 5


SIZE_STACK: Final = 64


class Tree(IntEnum):
    """Instructions that put results together, on a stack of objects."""

    DONE = 0
    LEAF = 1  # number of the result
    SAME = 2  # object
    TUPLE = 3  # length
    LIST = 4  # length
    DICT = 5  # length, keys
    CALL = 6  # callable, length


class DonatedArray(IntEnum):
    """Positions of the words that tell of an array argument where some may be written over. Their
    number and the place of `ArrayExtent` words for each in the frame come first.
    """

    SLOT = 0
    ITEM = 1  # bytes of an element
    IS_DONATED = 2


class ArrayExtent(IntEnum):
    """Positions of the words of the memory that an array lies in."""

    START = 0
    END = 1
    IS_DONATED = 2


STUB_CALL: Final = "weft_stub_call"  # (self, args, nargs, kwnames), a METH_FASTCALL of Python
STUB_ENTER: Final = "weft_stub_enter"  # (entry, run, data, numbers, results, arena, flags)
STUB_ARRAY: Final = "weft_stub_array"  # (shared, dtype, rank, dims, bytes): a new array, or null
POLL: Final = "weft_poll"  # (run): stops the run if a signal handler raises
BUFFER: Final = "weft_buffer"  # (self, view, flags), a bf_getbuffer of Python
STUB_EXPORTS: Final = (
    *(STUB_CALL, STUB_ENTER, STUB_ARRAY, POLL, BUFFER, MEMORY_TRIM),
    *MEMORY_HANDLER,
)
BUFFERED: Final = "_buffer"  # the attribute whose buffer objects with BUFFER offer as their own

# The functions of Python and NumPy that the stub calls.
PYTHON_API: Final = (
    "PyBytes_AsString",
    "PyBytes_FromStringAndSize",
    "PyComplex_ImagAsDouble",
    "PyComplex_RealAsDouble",
    "PyContextVar_Get",
    "PyDict_New",
    "PyDict_Next",
    "PyDict_SetItem",
    "PyDict_Size",
    "PyErr_CheckSignals",
    "PyErr_Clear",
    "PyErr_Occurred",
    "PyErr_NoMemory",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyFloat_AsDouble",
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyList_GetItem",
    "PyList_New",
    "PyList_SetItem",
    "PyList_Size",
    "PyLong_AsLongLong",
    "PyLong_AsLongLongAndOverflow",
    "PyObject_CallNoArgs",
    "PyObject_CallOneArg",
    "PyObject_GetAttr",
    "PyObject_GetAttrString",
    "PyObject_GetBuffer",
    "PyObject_RichCompareBool",
    "PyObject_Vectorcall",
    "PyThread_get_thread_ident",
    "PyTraceMalloc_Track",
    "PyTuple_GetItem",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyTuple_Size",
    "PyUnicode_Compare",
    "Py_DecRef",
    "Py_IncRef",
)
NUMPY_API: Final = {"PyArray_NewFromDescr": 94}  # with their places in NumPy's table
ARRAY_TYPE_INDEX: Final = 2  # of the type of arrays in that table


class ArrayField(IntEnum):
    """Bytes from the start of a NumPy array to its fields; checked when the runtime starts."""

    DATA = 16
    RANK = 24
    DIMS = 32
    STRIDES = 40
    DTYPE = 56
    FLAGS = 64
    HANDLER = 88


TYPE_BUFFER: Final = 160  # bytes from the start of a type to its `tp_as_buffer`


class DTypeField(IntEnum):
    """Bytes from the start of a NumPy dtype to its fields."""

    BYTE_ORDER = 26
    NUMBER = 28


OBJECT_TYPE: Final = 8  # bytes from the start of any Python object to its type
SCALAR_VALUE: Final = 16  # and to the value of a NumPy scalar
C_ORDER: Final = 1  # flags of NumPy arrays
OWNS_DATA: Final = 4
ALIGNED: Final = 0x100
WRITEABLE: Final = 0x400
MOST_AXES: Final = 64  # of a NumPy array
EQUAL: Final = 2  # Python's number of ==
