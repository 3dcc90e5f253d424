import { createSocket, type Socket } from "node:dgram";

interface Delivery {
  readonly packet: Buffer;
  readonly delayMs?: number;
}

/** Maps a packet to its deliveries: none, itself, or several. `index` counts from 1 per direction. */
type Policy = (packet: Buffer, index: number) => readonly Delivery[];

export const passOn: Policy = (packet) => [{ packet }];

/** A UDP relay between one prober and one responder that drops, duplicates, delays or damages packets. */
export class UdpMiddlebox {
  requests = 0;
  answers = 0;
  /** Requests the responder received, as sent. */
  readonly seen: Buffer[] = [];
  onRequest: Policy = passOn;
  onAnswer: Policy = passOn;
  readonly #front: Socket;
  readonly #back: Socket;
  #asker: { address: string; port: number } | null = null;

  private constructor(front: Socket, back: Socket, target: { address: string; port: number }) {
    this.#front = front;
    this.#back = back;
    front.on("message", (packet, { address, port }) => {
      this.#asker = { address, port };
      this.seen.push(Buffer.from(packet));
      deliver(this.onRequest(packet, ++this.requests), (out) => back.send(out, target.port, target.address));
    });
    back.on("message", (packet) =>
      deliver(this.onAnswer(packet, ++this.answers), (out) => this.toAsker(out)),
    );
  }

  get askerPort(): number | null {
    return this.#asker?.port ?? null;
  }

  static async open(target: { readonly address: string; readonly port: number }): Promise<UdpMiddlebox> {
    const sockets = [createSocket("udp4"), createSocket("udp4")] as const;
    for (const socket of sockets)
      await new Promise<void>((resolve) => void socket.bind(0, "127.0.0.3", () => resolve()));
    return new UdpMiddlebox(...sockets, target);
  }

  get port(): number {
    return this.#front.address().port;
  }

  toAsker(packet: Uint8Array): void {
    if (this.#asker !== null) this.#front.send(packet, this.#asker.port, this.#asker.address);
  }

  close(): void {
    this.#front.close();
    this.#back.close();
  }
}

function deliver(deliveries: readonly Delivery[], send: (packet: Buffer) => void): void {
  for (const { packet, delayMs } of deliveries) {
    if (delayMs === undefined) send(packet);
    else setTimeout(send, delayMs, packet);
  }
}
