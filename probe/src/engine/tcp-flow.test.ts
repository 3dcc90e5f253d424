import { createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FrameReader, createFrame } from "../domain/frames.ts";
import { lossRatio } from "../domain/loss.ts";
import type { Outcome } from "@isochrone/telemetry";
import {
  LOOP_KINDS,
  manualContext,
  openResponder,
  peerAt,
  signedRequest,
  until,
  type TestContext,
  type TestResponder,
} from "../testing/harness.ts";
import { TcpFlow } from "./tcp-flow.ts";

let context: TestContext;
let flow: TcpFlow | null = null;
let responder: TestResponder | null = null;
let server: Server | null = null;
const sockets: Socket[] = [];
const totals: Record<string, number> = {};

describe.each(LOOP_KINDS)("on %s sockets", (kind) => {
  beforeEach(() => {
    context = manualContext({}, kind);
    for (const name of Object.keys(totals)) delete totals[name];
  });

  afterEach(async () => {
    flow?.stop();
    context.close();
    for (const socket of sockets.splice(0)) socket.destroy();
    await responder?.close();
    await new Promise<void>((resolve) => (server === null ? resolve() : void server.close(() => resolve())));
    flow = responder = server = null;
  });

  /** Adds new counts to `totals`: outcomes, errors as `error:<reason>`, discards as `skip:<reason>`. */
  function collect(): Record<string, number> {
    const { outcomes, errors, discards } = flow!.drain();
    for (const [name, count] of Object.entries(outcomes)) totals[name] = (totals[name] ?? 0) + count;
    for (const [name, count] of Object.entries(errors))
      totals[`error:${name}`] = (totals[`error:${name}`] ?? 0) + count;
    for (const [name, count] of Object.entries(discards))
      totals[`skip:${name}`] = (totals[`skip:${name}`] ?? 0) + count;
    return totals;
  }

  const decided = (): number => {
    const { received = 0, lost = 0 } = collect();
    return received + lost;
  };

  function tick(): void {
    flow!.prepare();
    flow!.send();
  }

  async function openFlow(tcpPort: number): Promise<TcpFlow> {
    const opened = new TcpFlow(context, peerAt({ tcpPort }));
    flow = opened;
    opened.start();
    await until("the connection", () => opened.isOpen);
    return opened;
  }

  async function serve(onConnection: (socket: Socket) => void): Promise<number> {
    const opened = createServer((socket) => {
      sockets.push(socket);
      socket.on("error", () => {});
      onConnection(socket);
    });
    server = opened;
    await new Promise<void>((resolve) => void opened.listen(0, "127.0.0.2", resolve));
    const address = opened.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  describe("TCP_RR", () => {
    test("every transaction on the one connection is answered and timed", async () => {
      responder = await openResponder();
      await openFlow(responder.tcpPort);
      for (let i = 1; i <= 20; i++) {
        tick();
        await until("the answer", () => decided() === i);
      }
      expect(collect()).toMatchObject({ sent: 20, received: 20, lost: 0, late: 0, duplicate: 0, corrupt: 0 });
      expect(responder.responder.drain().answered).toBe(20);
    });

    test("a tick while a transaction is under way is left out, not lost", async () => {
      const port = await serve(() => {});
      await openFlow(port);
      tick();
      tick();
      tick();
      await until("the timeout", () => decided() === 1);
      expect(collect()).toMatchObject({ sent: 1, lost: 1, "skip:still_waiting": 2 });
    });

    test("an answer after the timeout is late, and the next transaction's time is its own", async () => {
      responder = await openResponder();
      const real = await import("node:net");
      let first = true;
      const port = await serve((socket) => {
        const back = real.connect(responder!.tcpPort, "127.0.0.2");
        sockets.push(back);
        socket.on("data", (chunk: Buffer) => back.write(chunk));
        back.on("data", (chunk: Buffer) => {
          if (!first) socket.write(chunk);
          else setTimeout(() => socket.write(chunk), 250);
          first = false;
        });
      });
      await responder.close();
      responder = await openResponder({ acceptTranslatedSource: true });
      const opened = await openFlow(port);
      tick();
      await until("the loss", () => decided() === 1);
      tick();
      await until(
        "the second answer and the late one",
        () => decided() === 2 && (collect()["late"] ?? 0) === 1,
      );
      expect(totals).toMatchObject({ sent: 2, received: 1, lost: 1, late: 1, duplicate: 0, corrupt: 0 });
      expect(opened.isOpen).toBe(true);
    });

    test("a refused connection loses the transaction of every tick", async () => {
      const port = await serve(() => {});
      await new Promise<void>((resolve) => void server!.close(() => resolve()));
      server = null;
      flow = new TcpFlow(context, peerAt({ tcpPort: port }));
      flow.start();
      tick();
      await until("the refusal", () => decided() === 1);
      tick();
      tick();
      await until("the losses", () => decided() === 3);
      expect(collect()).toMatchObject({ sent: 3, lost: 3, received: 0, "error:ECONNREFUSED": 3 });
      expect(lossRatio(totals as Record<Outcome, number>)).toBe(1);
    });

    test("a connection that the peer closes loses the waiting transaction and is opened anew", async () => {
      responder = await openResponder();
      const port = await serve((socket) => void socket.once("data", () => socket.destroy()));
      const opened = await openFlow(port);
      tick();
      await until("the loss", () => decided() === 1);
      expect(opened.isOpen).toBe(false);
      await until("the new connection", () => {
        opened.prepare();
        return opened.isOpen;
      });
      expect(collect()).toMatchObject({ sent: 1, lost: 1, "error:closed_by_peer": 1 });
    });

    test("a connection that answers nothing is given up after three losses", async () => {
      let connections = 0;
      const port = await serve(() => void connections++);
      const opened = await openFlow(port);
      for (let lost = 1; lost <= 3; lost++) {
        tick();
        await until("the timeout", () => decided() === lost);
      }
      expect(opened.isOpen).toBe(false);
      await until("the new connection", () => {
        opened.prepare();
        return opened.isOpen;
      });
      expect(connections).toBe(2);
    });

    test("a peer that sends garbage is hung up on", async () => {
      const port = await serve((socket) => void socket.write(Buffer.alloc(100_000, 0xff)));
      flow = new TcpFlow(context, peerAt({ tcpPort: port }));
      flow.start();
      await until("the hang-up", () => (collect()["corrupt"] ?? 0) > 0 && !flow!.isOpen);
      expect(totals).toMatchObject({ corrupt: 1, received: 0, "error:bad_frame": 1 });
    });

    test("a peer that floods well-formed packets is hung up on, and none is believed", async () => {
      const { frame, packet } = createFrame(128);
      signedRequest({ transport: "tcp" }).copy(packet);
      const port = await serve(
        (socket) => void socket.write(Buffer.concat(Array.from({ length: 5000 }, () => frame))),
      );
      flow = new TcpFlow(context, peerAt({ tcpPort: port }));
      flow.start();
      await until("the hang-up", () => (collect()["corrupt"] ?? 0) > 64 && !flow!.isOpen);
      expect(totals).toMatchObject({ received: 0 });
      // One read may hold a few more than the bound.
      expect(totals["corrupt"]).toBeLessThan(300);
    });
  });
});

describe("frames", () => {
  test("a stream cut anywhere gives the same packets", () => {
    const { frame } = createFrame(100);
    const stream = Buffer.concat([frame, frame, frame]);
    for (let cut = 1; cut < 110; cut++) {
      const reader = new FrameReader();
      let packets = 0;
      for (let at = 0; at < stream.length; at += cut)
        expect(reader.push(stream.subarray(at, at + cut), () => packets++)).toBe(true);
      expect(packets).toBe(3);
    }
  });

  test.each([0, 1, 83, 1201, 65_535])("a length of %i ends the stream before anything is kept", (length) => {
    const head = Buffer.alloc(2);
    head.writeUInt16BE(length);
    expect(new FrameReader().push(head, () => {})).toBe(false);
  });
});
