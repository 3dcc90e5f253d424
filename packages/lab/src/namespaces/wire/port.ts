import {
  KernelSocket,
  SYS,
  type Libc,
  type MessageInfo,
  type ReceiveBatch,
  type SendBatch,
} from "@isochrone/kernel-sockets";

/**
 * Frames that come while the emulator is busy wait here: about a tenth of a second of the most that it can
 * forward.
 */
const RECEIVE_BUFFER_BYTES = 8 * 1024 * 1024;
/** Sends whose stamps may be outstanding; they come at once. A power of two. */
const REMEMBERED_SENDS = 4096;

/** Hears the kernel's stamp of a packet's departure. */
type StampListener = (packet: number, kernelTime: number) => void;

/** The lab's end of the cable to one node: frames in with the kernel's stamps, frames out likewise. */
export class WirePort {
  readonly fd: number;
  readonly #socket: KernelSocket;
  readonly #packets = new Float64Array(REMEMBERED_SENDS);
  #sends = 0;
  #overflows = 0;

  /** @throws SystemCallError */
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

  /**
   * Sends the batch, whose packets have these numbers; how many the kernel took. Stamps of former sends must
   * have been read.
   */
  send(batch: SendBatch, packets: readonly number[]): number {
    const sent = batch.send(this.fd);
    for (let i = 0; i < sent; i++) {
      this.#packets[this.#sends & (REMEMBERED_SENDS - 1)] = packets[i]!;
      this.#sends = (this.#sends + 1) >>> 0;
    }
    return sent;
  }

  /** After a refused send nobody knows the next send's number. Stamps of former sends must have been read. */
  restart(): void {
    this.#socket.restartNumbering();
    this.#sends = 0;
  }

  /** Reads the stamps of departures that have come. */
  readStamps(batch: ReceiveBatch, listener: StampListener): void {
    for (let count = batch.slots; count === batch.slots;) {
      count = batch.receive(this.fd, SYS.MSG_ERRQUEUE);
      for (let slot = 0; slot < count; slot++) {
        const { sendNumber, kernelTime } = batch.info(slot);
        if (sendNumber >= 0) listener(this.#packets[sendNumber & (REMEMBERED_SENDS - 1)]!, kernelTime);
      }
    }
  }

  /** Frames that the kernel dropped since the last call, as a received message tells. */
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
