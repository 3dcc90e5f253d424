import { connect, type Socket } from "node:net";

export class RawClient {
  readonly socket: Socket;
  received = Buffer.alloc(0);
  ended = false;
  #waiting: (() => void)[] = [];

  static async open(port: number, host = "127.0.0.1", localAddress = "127.0.0.1"): Promise<RawClient> {
    const socket = connect({ host, port, localAddress });
    const client = new RawClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", () => resolve());
      socket.once("error", reject);
    });
    return client;
  }

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (data) => {
      this.received = Buffer.concat([this.received, data]);
      this.#wake();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.ended = true;
      this.#wake();
    });
  }

  async bytes(count: number): Promise<Buffer> {
    while (this.received.length < count) {
      if (this.ended)
        throw new Error(`wanted ${count} bytes, the connection ended after ${this.received.length}`);
      await this.#change();
    }
    return this.received;
  }

  async end(): Promise<Buffer> {
    while (!this.ended) await this.#change();
    return this.received;
  }

  close(): void {
    this.socket.destroy();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
