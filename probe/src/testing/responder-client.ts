import { createSocket, type Socket } from "node:dgram";
import { connect } from "node:net";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { createFrame } from "../domain/frames.ts";
import type { EngineConfig } from "../ports/ports.ts";
import { ResponderThread, type ResponderThreadDeps } from "../responder/thread.ts";
import { engineConfig, signedRequest, until } from "./harness.ts";

/** Sequence of the final packet, whose answer shows that all earlier ones were judged. */
export const LAST_SEQUENCE = 0x7fff_0000;

export class ResponderClient {
  readonly logger = new MemoryLogger();
  readonly thread: ResponderThread;
  readonly answers: Buffer[] = [];
  udpPort = 0;
  tcpPort = 0;
  answered = 0;
  readonly refused: Record<string, number> = {};
  readonly #client: Socket;

  private constructor(deps: Partial<ResponderThreadDeps>) {
    this.thread = new ResponderThread({ clock: systemClock, logger: this.logger, ...deps });
    this.#client = createSocket("udp4");
    this.#client.on("message", (packet) => this.answers.push(packet));
  }

  static async open(
    deps: Partial<ResponderThreadDeps>,
    values: Partial<EngineConfig> = {},
  ): Promise<ResponderClient> {
    const client = new ResponderClient(deps);
    await new Promise<void>((resolve) => void client.#client.bind(0, "127.0.0.1", () => resolve()));
    Object.assign(client, await client.thread.open(1, answererConfig(values)));
    return client;
  }

  get clientPort(): number {
    return this.#client.address().port;
  }

  send(packet: Uint8Array): void {
    this.#client.send(packet, this.udpPort, "127.0.0.2");
  }

  /** Sends all packets and a valid final one. Resolves with the refusals once all are counted. */
  async ask(
    packets: readonly Buffer[],
    last = signedRequest({ sequence: LAST_SEQUENCE, session: 0xffff }),
  ): Promise<Readonly<Record<string, number>>> {
    for (const packet of packets) this.send(packet);
    this.send(last);
    await until("the last answer", () =>
      this.answers.some((answer) => answer.readUInt32BE(24) === LAST_SEQUENCE),
    );
    await this.counted(() => this.answered + this.refusedSum() > packets.length);
    return this.refused;
  }

  async counted(condition: () => boolean, what = "the counts"): Promise<void> {
    await until(what, () => {
      this.drain();
      return condition();
    });
  }

  drain(): void {
    const { answered, refused } = this.thread.drain(1);
    this.answered += answered;
    for (const [reason, count] of Object.entries(refused))
      this.refused[reason] = (this.refused[reason] ?? 0) + count;
  }

  refusedSum(): number {
    return Object.values(this.refused).reduce((sum, count) => sum + count, 0);
  }

  /** Opens a connection, sends the chunks, and waits for an answer of 130 bytes or the end. */
  async talk(...chunks: readonly Uint8Array[]): Promise<{ received: Buffer; closed: boolean }> {
    const socket = connect(this.tcpPort, "127.0.0.2");
    socket.setNoDelay(true);
    const state = { received: Buffer.alloc(0), closed: false };
    socket.on("data", (chunk: Buffer) => (state.received = Buffer.concat([state.received, chunk])));
    socket.on("close", () => (state.closed = true));
    socket.on("error", () => {});
    await new Promise<void>((resolve) => void socket.once("connect", resolve));
    for (const chunk of chunks) socket.write(chunk);
    await until("an answer or the end", () => state.closed || state.received.length >= 130);
    socket.destroy();
    return state;
  }

  async close(): Promise<void> {
    this.#client.close();
    await this.thread.closeAll();
  }
}

export function answererConfig(values: Partial<EngineConfig> = {}): EngineConfig {
  return engineConfig({ node: "answerer", identity: "127.0.0.2", bindAddress: "127.0.0.2", ...values });
}

export function framed(packet: Buffer): Buffer {
  const { frame, packet: inside } = createFrame(packet.length);
  packet.copy(inside);
  return frame;
}
