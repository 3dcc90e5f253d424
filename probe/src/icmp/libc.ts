// The few system calls of an ICMP socket, through koffi. Struct offsets are those of 64-bit little-endian Linux (x64 and arm64 agree).
import { endianness } from "node:os";

/** Memory that the kernel reads and writes, seen from here. */
export interface Block {
  readonly pointer: unknown;
  readonly address: bigint;
  readonly view: DataView;
}

/** Numbers from the kernel's headers. */
export const SYS = {
  AF_INET: 2,
  SOCK_DGRAM: 2,
  SOCK_RAW: 3,
  SOCK_CLOEXEC: 0o2000000,
  SOCK_NONBLOCK: 0o4000,
  IPPROTO_ICMP: 1,
  SOL_SOCKET: 1,
  SO_RCVBUF: 8,
  SO_TIMESTAMPING: 37,
  SOL_IP: 0,
  IP_RECVERR: 11,
  SOL_RAW: 255,
  ICMP_FILTER: 1,
  MSG_DONTWAIT: 0x40,
  MSG_ERRQUEUE: 0x2000,
  POLLIN: 1,
  SO_EE_ORIGIN_TIMESTAMPING: 4,
} as const;

export interface Libc {
  block(bytes: number): Block;
  /** File descriptor, or -1. */
  socket(family: number, type: number, protocol: number): number;
  setOption(fd: number, level: number, name: number, value: Block, bytes: number): number;
  sendTo(fd: number, data: Block, bytes: number, address: Block, addressBytes: number): number;
  receive(fd: number, message: Block, flags: number): number;
  /** `timeout` is a timespec. */
  poll(descriptors: Block, count: number, timeout: Block): number;
  close(fd: number): void;
  /** The system's name (EPERM) or number of the last error. */
  lastError(): string;
}

/** Loads libc. Rejects with the reason where that can't work. */
export async function loadLibc(): Promise<Libc> {
  const { platform, arch } = process;
  if (platform !== "linux" || (arch !== "x64" && arch !== "arm64") || endianness() !== "LE") {
    throw new Error(`kernel timestamps need 64-bit little-endian Linux, this is ${platform} ${arch}`);
  }
  const { default: koffi } = await import("koffi");
  const libc = koffi.load(null);
  const socket = libc.func("int socket(int, int, int)");
  const setsockopt = libc.func("int setsockopt(int, int, int, void *, uint32_t)");
  const sendto = libc.func("intptr_t sendto(int, void *, uintptr_t, int, void *, uint32_t)");
  const recvmsg = libc.func("intptr_t recvmsg(int, void *, int)");
  const ppoll = libc.func("int ppoll(void *, uint64_t, void *, void *)");
  const close = libc.func("int close(int)");
  const names = new Map(Object.entries(koffi.os.errno).map(([name, value]) => [value, name]));
  return {
    block(bytes) {
      const pointer: unknown = koffi.alloc("uint8_t", bytes);
      return { pointer, address: koffi.address(pointer), view: new DataView(koffi.view(pointer, bytes)) };
    },
    socket: (family, type, protocol) => Number(socket(family, type, protocol)),
    setOption: (fd, level, name, value, bytes) => Number(setsockopt(fd, level, name, value.pointer, bytes)),
    sendTo: (fd, data, bytes, address, addressBytes) =>
      Number(sendto(fd, data.pointer, bytes, 0, address.pointer, addressBytes)),
    receive: (fd, message, flags) => Number(recvmsg(fd, message.pointer, flags)),
    poll: (descriptors, count, timeout) => Number(ppoll(descriptors.pointer, count, timeout.pointer, null)),
    close: (fd) => void close(fd),
    lastError: () => {
      const errno = koffi.errno();
      return names.get(errno) ?? `errno_${errno}`;
    },
  };
}
