import { SOCKADDR_BYTES, ipOf, portOf, socketAddress, type SocketAddress } from "./address.ts";
import { filterProgram, type FilterInstruction } from "./filter.ts";
import type { Block, Libc } from "./libc.ts";
import { SYS, TIMESTAMPING } from "./sys.ts";

const SOCKADDR_LL_BYTES = 20;
const SOCKADDR_NL_BYTES = 12;

export class SystemCallError extends Error {
  readonly code: string;

  constructor(call: string, code: string) {
    super(`${call}: ${code}`);
    this.code = code;
  }
}

interface SocketKind {
  readonly family: number;
  readonly type: number;
  readonly protocol: number;
}

const FILTER_HEAD_BYTES = 16;
const MEMORY_INFO_BYTES = 36;
const MEMORY_INFO_DROPS = 32;

interface TcpInfo {
  /** Smoothed round-trip time, microseconds; right after the handshake, the handshake's. */
  readonly rttUs: number;
  readonly retransmits: number;
}

const TCP_INFO_BYTES = 104;
const TCP_INFO_RTT = 68;
const TCP_INFO_TOTAL_RETRANS = 100;

/** A non-blocking kernel socket. Node does not watch it: its owner polls. */
export class KernelSocket {
  readonly fd: number;
  readonly #libc: Libc;
  readonly #word: Block;
  #closed = false;
  #stamping = 0;

  static open(libc: Libc, { family, type, protocol }: SocketKind): KernelSocket {
    const fd = libc.socket(family, type | SYS.SOCK_CLOEXEC | SYS.SOCK_NONBLOCK, protocol);
    if (fd < 0) throw new SystemCallError("socket", libc.lastError());
    return new KernelSocket(libc, fd);
  }

  constructor(libc: Libc, fd: number) {
    this.fd = fd;
    this.#libc = libc;
    this.#word = libc.block(4);
  }

  bind(ip: string, port: number): void {
    this.#withAddress(ip, port, "bind", (address) => this.#libc.bind(this.fd, address.block, address.bytes));
  }

  /**
   * Restricts a packet socket to this interface and protocol (SYS.ETH_P_ALL: all). Do not give the protocol
   * to `open`, or frames of other interfaces arrive in between. Sends without an address use the interface.
   * @throws SystemCallError; ENODEV: no such interface in the thread's network namespace
   */
  bindInterface(name: string, protocol: number): void {
    const index = this.#libc.interfaceIndex(name);
    if (index === 0) throw new SystemCallError(`bind interface ${name}`, this.#libc.lastError());
    const address = this.#libc.block(SOCKADDR_LL_BYTES);
    address.view.setUint16(0, SYS.AF_PACKET, true);
    address.view.setUint16(2, protocol);
    address.view.setInt32(4, index, true);
    const result = this.#libc.bind(this.fd, address, SOCKADDR_LL_BYTES);
    const code = result < 0 ? this.#libc.lastError() : "";
    this.#libc.free(address);
    if (result < 0) throw new SystemCallError(`bind interface ${name}`, code);
  }

  /** Binds a netlink socket: unbound ones get no messages of joined groups. @throws SystemCallError */
  bindNetlink(): void {
    const address = this.#libc.block(SOCKADDR_NL_BYTES);
    address.view.setUint16(0, SYS.AF_NETLINK, true);
    const result = this.#libc.bind(this.fd, address, SOCKADDR_NL_BYTES);
    const code = result < 0 ? this.#libc.lastError() : "";
    this.#libc.free(address);
    if (result < 0) throw new SystemCallError("bind a netlink socket", code);
  }

  connect(ip: string, port: number): boolean {
    let connecting = false;
    this.#withAddress(ip, port, "connect", (address) => {
      const result = this.#libc.connect(this.fd, address.block, address.bytes);
      connecting = result < 0 && this.#libc.lastError() === "EINPROGRESS";
      return connecting ? 0 : result;
    });
    return connecting;
  }

  /** Enables kernel arrival stamps, and with `sends` departure stamps, numbered from 0 in the error queue. */
  enableTimestamps({ sends }: { readonly sends: boolean }): boolean {
    const { RX_SOFTWARE, SOFTWARE, TX_SOFTWARE, OPT_ID, OPT_CMSG, OPT_TSONLY } = TIMESTAMPING;
    this.#stamping = RX_SOFTWARE | SOFTWARE | (sends ? TX_SOFTWARE | OPT_ID | OPT_CMSG | OPT_TSONLY : 0);
    return this.setOption(SYS.SOL_SOCKET, SYS.SO_TIMESTAMPING, this.#stamping);
  }

  /** Restarts numbering at 0: a refused send may or may not have used a number. */
  restartNumbering(): void {
    this.setOption(SYS.SOL_SOCKET, SYS.SO_TIMESTAMPING, 0);
    this.setOption(SYS.SOL_SOCKET, SYS.SO_TIMESTAMPING, this.#stamping);
  }

  /** Returns false if refused; see `libc.lastError()`. */
  setOption(level: number, name: number, value: number): boolean {
    this.#word.view.setUint32(0, value >>> 0, true);
    return this.#libc.setOption(this.fd, level, name, this.#word, 4) === 0;
  }

  setOptionBytes(level: number, name: number, value: Block, bytes: number): boolean {
    return this.#libc.setOption(this.fd, level, name, value, bytes) === 0;
  }

  getOptionBytes(level: number, name: number, into: Block): number {
    this.#word.view.setUint32(0, into.view.byteLength, true);
    const result = this.#libc.getOption(this.fd, level, name, into, this.#word);
    return result < 0 ? -1 : this.#word.view.getUint32(0, true);
  }

  getOption(level: number, name: number): number {
    const value = this.#libc.block(4);
    const read = this.getOptionBytes(level, name, value);
    const number = read < 0 ? -1 : value.view.getInt32(0, true);
    this.#libc.free(value);
    return number;
  }

  /**
   * Drops packets refused by a classic BPF program before they take queue space. Returns false if refused.
   */
  attachFilter(program: readonly FilterInstruction[]): boolean {
    return this.#attach(SYS.SO_ATTACH_FILTER, program);
  }

  /**
   * Selects the receiving socket among those sharing the port (SO_REUSEPORT) by a program that returns its
   * index in binding order. Offsets count from the payload. Returns false if refused.
   */
  attachSteering(program: readonly FilterInstruction[]): boolean {
    return this.#attach(SYS.SO_ATTACH_REUSEPORT_CBPF, program);
  }

  /** Requests receive buffer space, beyond the system limit if the process may. Returns the granted size. */
  setReceiveBuffer(bytes: number): number {
    if (!this.setOption(SYS.SOL_SOCKET, SYS.SO_RCVBUFFORCE, bytes)) {
      this.setOption(SYS.SOL_SOCKET, SYS.SO_RCVBUF, bytes);
    }
    return this.getOption(SYS.SOL_SOCKET, SYS.SO_RCVBUF);
  }

  /** Packets dropped by the filter or for want of space (wraps at 2^32); -1: unknown. */
  drops(): number {
    const info = this.#libc.block(MEMORY_INFO_BYTES);
    const read = this.getOptionBytes(SYS.SOL_SOCKET, SYS.SO_MEMINFO, info);
    const drops = read < MEMORY_INFO_BYTES ? -1 : info.view.getUint32(MEMORY_INFO_DROPS, true);
    this.#libc.free(info);
    return drops;
  }

  tcpInfo(): TcpInfo | null {
    const info = this.#libc.block(TCP_INFO_BYTES);
    const read = this.getOptionBytes(SYS.IPPROTO_TCP, SYS.TCP_INFO, info);
    const { view } = info;
    const known: TcpInfo = {
      rttUs: view.getUint32(TCP_INFO_RTT, true),
      retransmits: view.getUint32(TCP_INFO_TOTAL_RETRANS, true),
    };
    this.#libc.free(info);
    return read < TCP_INFO_BYTES ? null : known;
  }

  /** Makes `close` reset the connection, which leaves no TIME_WAIT and discards unsent data. */
  resetOnClose(): boolean {
    const linger = this.#libc.block(8);
    linger.view.setInt32(0, 1, true);
    const set = this.setOptionBytes(SYS.SOL_SOCKET, SYS.SO_LINGER, linger, 8);
    this.#libc.free(linger);
    return set;
  }

  takeError(): number {
    return this.getOption(SYS.SOL_SOCKET, SYS.SO_ERROR);
  }

  localAddress(): { readonly ip: string; readonly port: number } {
    const address = this.#libc.block(SOCKADDR_BYTES);
    this.#word.view.setUint32(0, SOCKADDR_BYTES, true);
    const result = this.#libc.localAddress(this.fd, address, this.#word);
    const bound = { ip: ipOf(address.view, 0), port: portOf(address.view, 0) };
    this.#libc.free(address);
    if (result < 0) throw new SystemCallError("getsockname", this.#libc.lastError());
    return bound;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#libc.close(this.fd);
    this.#libc.free(this.#word);
  }

  #attach(option: number, program: readonly FilterInstruction[]): boolean {
    const code = filterProgram(program);
    const memory = this.#libc.block(FILTER_HEAD_BYTES + code.length);
    memory.bytes.set(code, FILTER_HEAD_BYTES);
    memory.view.setUint16(0, program.length, true);
    memory.view.setBigUint64(8, memory.address + BigInt(FILTER_HEAD_BYTES), true);
    const attached = this.setOptionBytes(SYS.SOL_SOCKET, option, memory, FILTER_HEAD_BYTES);
    this.#libc.free(memory);
    return attached;
  }

  #withAddress(ip: string, port: number, call: string, run: (address: SocketAddress) => number): void {
    const address = socketAddress(this.#libc, ip, port);
    const result = run(address);
    const code = result < 0 ? this.#libc.lastError() : "";
    this.#libc.free(address.block);
    if (result < 0) throw new SystemCallError(`${call} ${ip} port ${port}`, code);
  }
}
