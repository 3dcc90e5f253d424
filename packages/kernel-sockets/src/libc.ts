// Socket system calls through koffi, without compiled code of our own. Struct layouts are those of 64-bit
// little-endian Linux.
import { endianness } from "node:os";
import type koffiModule from "koffi";
import { SYS } from "./sys.ts";

type Koffi = typeof koffiModule;

export interface Block {
  readonly pointer: unknown;
  readonly address: bigint;
  readonly bytes: Buffer;
  readonly view: DataView;
}

/**
 * libc's socket calls. They return the C result, -1 for an error named by `lastError`, and never throw.
 * Callers own file descriptors.
 */
export interface Libc {
  block(bytes: number): Block;
  /** Do not touch the block or its views afterwards. */
  free(block: Block): void;
  socket(family: number, type: number, protocol: number): number;
  close(fd: number): void;
  bind(fd: number, address: Block, bytes: number): number;
  connect(fd: number, address: Block, bytes: number): number;
  listen(fd: number, backlog: number): number;
  accept(fd: number, address: Block, length: Block, flags: number): number;
  shutdown(fd: number, how: number): number;
  localAddress(fd: number, address: Block, length: Block): number;
  setOption(fd: number, level: number, name: number, value: Block, bytes: number): number;
  getOption(fd: number, level: number, name: number, value: Block, length: Block): number;
  send(fd: number, data: Block, offset: number, bytes: number, flags: number): number;
  sendTo(
    fd: number,
    data: Block,
    offset: number,
    bytes: number,
    address: Block,
    addressBytes: number,
  ): number;
  receive(fd: number, data: Block, bytes: number, flags: number): number;
  sendMessages(fd: number, messages: Block, count: number, flags: number): number;
  receiveMessages(fd: number, messages: Block, count: number, flags: number): number;
  poll(descriptors: Block, count: number, timeout: Block): number;
  watcher(): number;
  /** `operation`: SYS.EPOLL_CTL_*; `event`: struct epoll_event. */
  watch(watcher: number, operation: number, fd: number, event: Block): number;
  watched(watcher: number, events: Block, atMost: number): number;
  read(fd: number, into: Block, bytes: number): number;
  /** Non-blocking eventfd(2); another thread's 8-byte write wakes pollers. */
  eventCounter(): number;
  open(path: string, flags: number): number;
  setNetworkNamespace(fd: number): number;
  ioctl(fd: number, request: number, argument: Block): number;
  /** Gives the thread SCHED_FIFO priority, 1 to 99; it must sleep, or it starves its core. */
  setRealtimePriority(priority: number): number;
  /** madvise(2) on whole pages; `advice`: SYS.MADV_*. */
  adviseMemory(address: number, bytes: number, advice: number): number;
  /** Yields to a thread waiting for this processor; returns at once if none is. */
  yieldProcessor(): void;
  interfaceIndex(name: string): number;
  /** Readable when the main thread's Node loop has work, except timers. -1: unknown. */
  nodeLoopFd(): number;
  clock(id: number): number;
  lastError(): string;
  errorName(errno: number): string;
}

const CLONE_NEWNET = 0x40000000;
const SCHED_FIFO = 1;

/**
 * Kernel times are numbers of ns since this CLOCK_REALTIME second: exact for a hundred days, unlike ns since
 * 1970.
 */
export const kernelTimeBase = Math.floor(Date.now() / 1000);

export function isLibcSupported(): boolean {
  const { platform, arch } = process;
  return platform === "linux" && (arch === "x64" || arch === "arm64") && endianness() === "LE";
}

let loaded: Promise<Libc> | null = null;

/** Loads libc once per thread. Rejects with the reason if impossible. */
export function loadLibc(): Promise<Libc> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<Libc> {
  if (!isLibcSupported()) {
    const { platform, arch } = process;
    throw new Error(`kernel sockets need 64-bit little-endian Linux, this is ${platform} ${arch}`);
  }
  const { default: koffi } = await import("koffi");
  const lib = koffi.load(null);
  const socket = lib.func("int socket(int, int, int)");
  const close = lib.func("int close(int)");
  const bind = lib.func("int bind(int, void *, uint32_t)");
  const connect = lib.func("int connect(int, void *, uint32_t)");
  const listen = lib.func("int listen(int, int)");
  const accept4 = lib.func("int accept4(int, void *, void *, int)");
  const shutdown = lib.func("int shutdown(int, int)");
  const getsockname = lib.func("int getsockname(int, void *, void *)");
  const setsockopt = lib.func("int setsockopt(int, int, int, void *, uint32_t)");
  const getsockopt = lib.func("int getsockopt(int, int, int, void *, void *)");
  const send = lib.func("intptr_t send(int, uintptr_t, uintptr_t, int)");
  const sendto = lib.func("intptr_t sendto(int, uintptr_t, uintptr_t, int, void *, uint32_t)");
  const recv = lib.func("intptr_t recv(int, void *, uintptr_t, int)");
  const sendmmsg = lib.func("int sendmmsg(int, void *, uint32_t, int)");
  const recvmmsg = lib.func("int recvmmsg(int, void *, uint32_t, int, void *)");
  const ppoll = lib.func("int ppoll(void *, uint64_t, void *, void *)");
  const read = lib.func("intptr_t read(int, void *, uintptr_t)");
  const eventfd = lib.func("int eventfd(uint32_t, int)");
  const open = lib.func("int open(const char *, int)");
  const setns = lib.func("int setns(int, int)");
  const schedYield = lib.func("int sched_yield()");
  const ifNameToIndex = lib.func("uint32_t if_nametoindex(const char *)");
  const clockGetTime = lib.func("int clock_gettime(int, void *)");
  const names = errorNames(koffi.os.errno);
  const block = (length: number): Block => allocate(koffi, length);
  const now = block(16);
  return {
    block,
    free: (gone) => koffi.free(gone.pointer),
    socket: (family, type, protocol) => Number(socket(family, type, protocol)),
    close: (fd) => void close(fd),
    bind: (fd, address, bytes) => Number(bind(fd, address.pointer, bytes)),
    connect: (fd, address, bytes) => Number(connect(fd, address.pointer, bytes)),
    listen: (fd, backlog) => Number(listen(fd, backlog)),
    accept: (fd, address, length, flags) => Number(accept4(fd, address.pointer, length.pointer, flags)),
    shutdown: (fd, how) => Number(shutdown(fd, how)),
    localAddress: (fd, address, length) => Number(getsockname(fd, address.pointer, length.pointer)),
    setOption: (fd, level, name, value, bytes) => Number(setsockopt(fd, level, name, value.pointer, bytes)),
    getOption: (fd, level, name, value, length) =>
      Number(getsockopt(fd, level, name, value.pointer, length.pointer)),
    send: (fd, data, offset, bytes, flags) =>
      Number(send(fd, Number(data.address) + offset, bytes, flags | SYS.MSG_NOSIGNAL)),
    sendTo: (fd, data, offset, bytes, address, addressBytes) =>
      Number(
        sendto(fd, data.address + BigInt(offset), bytes, SYS.MSG_NOSIGNAL, address.pointer, addressBytes),
      ),
    receive: (fd, data, bytes, flags) => Number(recv(fd, data.pointer, bytes, flags)),
    sendMessages: (fd, messages, count, flags) =>
      Number(sendmmsg(fd, messages.pointer, count, flags | SYS.MSG_NOSIGNAL)),
    receiveMessages: (fd, messages, count, flags) =>
      Number(recvmmsg(fd, messages.pointer, count, flags, null)),
    poll: (descriptors, count, timeout) => Number(ppoll(descriptors.pointer, count, timeout.pointer, null)),
    read: (fd, into, bytes) => Number(read(fd, into.pointer, bytes)),
    eventCounter: () => Number(eventfd(0, SYS.SOCK_CLOEXEC | SYS.SOCK_NONBLOCK)),
    open: (path, flags) => Number(open(path, flags)),
    setNetworkNamespace: (fd) => Number(setns(fd, CLONE_NEWNET)),
    ...watcherCalls(lib),
    ...rareCalls(lib, now),
    yieldProcessor: () => void schedYield(),
    interfaceIndex: (name) => Number(ifNameToIndex(name)),
    clock(id) {
      clockGetTime(id, now.pointer);
      return toKernelTime(now.view, 0, id === SYS.CLOCK_REALTIME ? kernelTimeBase : 0);
    },
    errorName: (errno) => names.get(errno) ?? `errno_${errno}`,
    lastError: () => {
      const errno = koffi.errno();
      return names.get(errno) ?? `errno_${errno}`;
    },
  };
}

function watcherCalls(lib: ReturnType<Koffi["load"]>): Pick<Libc, "watcher" | "watch" | "watched"> {
  const create = lib.func("int epoll_create1(int)");
  const control = lib.func("int epoll_ctl(int, int, int, void *)");
  const wait = lib.func("int epoll_wait(int, void *, int, int)");
  return {
    watcher: () => Number(create(SYS.SOCK_CLOEXEC)),
    watch: (watcher, operation, fd, event) => Number(control(watcher, operation, fd, event.pointer)),
    watched: (watcher, events, atMost) => Number(wait(watcher, events.pointer, atMost, 0)),
  };
}

function rareCalls(
  lib: ReturnType<Koffi["load"]>,
  scratch: Block,
): Pick<Libc, "ioctl" | "setRealtimePriority" | "nodeLoopFd" | "adviseMemory"> {
  const ioctl = lib.func("int ioctl(int, uint64_t, void *)");
  const madvise = lib.func("int madvise(uintptr_t, uintptr_t, int)");
  const schedSetScheduler = lib.func("int sched_setscheduler(int, int, void *)");
  return {
    ioctl: (fd, request, argument) => Number(ioctl(fd, request, argument.pointer)),
    adviseMemory: (address, bytes, advice) => Number(madvise(address, bytes, advice)),
    setRealtimePriority(priority) {
      scratch.view.setInt32(0, priority, true);
      return Number(schedSetScheduler(0, SCHED_FIFO, scratch.pointer));
    },
    nodeLoopFd() {
      try {
        const loop: unknown = lib.func("void *uv_default_loop()")();
        return Number(lib.func("int uv_backend_fd(void *)")(loop));
      } catch {
        return -1;
      }
    },
  };
}

function allocate(koffi: Koffi, length: number): Block {
  const pointer: unknown = koffi.alloc("uint8_t", length);
  const bytes = Buffer.from(koffi.view(pointer, length));
  bytes.fill(0);
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  return { pointer, address: koffi.address(pointer), bytes, view };
}

function errorNames(errno: Readonly<Record<string, number>>): Map<number, string> {
  const byName = Object.entries(errno).sort(([a], [b]) => (a < b ? 1 : -1));
  return new Map(byName.map(([name, value]) => [value, name]));
}

export function toKernelTime(view: DataView, offset: number, baseSeconds: number = kernelTimeBase): number {
  // Seconds fit 48 bits; bigint would allocate per packet.
  const seconds = view.getInt16(offset + 4, true) * 0x1_0000_0000 + view.getUint32(offset, true);
  return (seconds - baseSeconds) * 1e9 + view.getUint32(offset + 8, true);
}
