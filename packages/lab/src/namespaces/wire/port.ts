import {
  KernelSocket,
  SYS,
  type Libc,
  type MessageInfo,
  type ReceiveBatch,
  type SendBatch,
} from "@isochrone/kernel-sockets";

/** Buffers frames while the emulator is busy: 0.1 s at its highest rate. */
const RECEIVE_BUFFER_BYTES = 8 * 1024 * 1024;
/** Bound on outstanding send timestamps. A power of two. */
const REMEMBERED_SENDS = 4096;

type StampListener = (packet: number, kernelTime: number) => void;

/** The lab's end of the cable to one node: sends and receives frames with kernel timestamps. */
export class WirePort {
  readonly fd: number;
  readonly #socket: KernelSocket;
  readonly #packets = new Float64Array(REMEMBERED_SENDS);
  #sends = 0;
  #overflows = 0;

  static open(libc: Libc, device: string): WirePort {
    const socket = KernelSocket.open(libc, { family: SYS.AF_PACKET, type: SYS.SOCK_RAW, protocol: 0 });
    try {
      socket.setOption(SYS.SOL_SOCKET, SYS.SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES);
      socket.setOption(SYS.SOL_SOCKET, SYS.SO_RXQ_OVFL, 1);
      socket.setOption(SYS.SOL_PACKET, SYS.PACKET_IGNORE_OUTGOING, 1);
      socket.enableTimestamps({ sends: true });
      socket.bindInterface(device, SYS.ETH_P_ALL);
    } catch (error) {
      socket.close();
      throw error;
    }
    return new WirePort(socket);
  }

  private constructor(socket: KernelSocket) {
    this.#socket = socket;
    this.fd = socket.fd;
  }

  /** Sends the batch and returns how many the kernel accepted. Read earlier timestamps first. */
  send(batch: SendBatch, packets: readonly number[]): number {
    const sent = batch.send(this.fd);
    for (let i = 0; i < sent; i++) {
      this.#packets[this.#sends & (REMEMBERED_SENDS - 1)] = packets[i]!;
      this.#sends = (this.#sends + 1) >>> 0;
    }
    return sent;
  }

  /** Call after a refused send: the next one's number is unknown. Read earlier timestamps first. */
  restart(): void {
    this.#socket.restartNumbering();
    this.#sends = 0;
  }

  readStamps(batch: ReceiveBatch, listener: StampListener): void {
    for (let count = batch.slots; count === batch.slots;) {
      count = batch.receive(this.fd, SYS.MSG_ERRQUEUE);
      for (let slot = 0; slot < count; slot++) {
        const { sendNumber, kernelTime } = batch.info(slot);
        if (sendNumber >= 0) listener(this.#packets[sendNumber & (REMEMBERED_SENDS - 1)]!, kernelTime);
      }
    }
  }

  newOverflows({ overflows }: MessageInfo): number {
    if (overflows < 0) return 0;
    const more = (overflows - this.#overflows) >>> 0;
    this.#overflows = overflows;
    return more;
  }

  close(): void {
    this.#socket.close();
  }
}
