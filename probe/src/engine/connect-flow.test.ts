import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { isLibcSupported, KernelSocket, SYS, loadLibc } from "@isochrone/kernel-sockets";
import { Distribution, type ExponentialHistogramData } from "@isochrone/telemetry";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lossRatio } from "../domain/loss.ts";
import type { FlowSnapshot } from "../ports/ports.ts";
import { LOOP_KINDS, manualContext, peerAt, until, type TestContext } from "../testing/harness.ts";
import { ConnectFlow } from "./connect-flow.ts";

describe.each(LOOP_KINDS)("tcp_connect on %s sockets", (kind) => {
  let context: TestContext;
  let server: Server;
  let port: number;
  let flow: ConnectFlow;
  const accepted: Socket[] = [];
  const ends: string[] = [];

  beforeEach(async () => {
    context = manualContext({}, kind);
    server = createServer((socket) => {
      accepted.push(socket);
      socket.on("error", (error) => ends.push("code" in error ? String(error.code) : "error"));
      socket.on("end", () => ends.push("end"));
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.2", resolve));
    const address = server.address();
    port = typeof address === "object" && address !== null ? address.port : 0;
    flow = new ConnectFlow(context, peerAt({ tcpPort: port }));
    flow.start();
  });

  afterEach(async () => {
    flow.stop();
    context.close();
    for (const socket of accepted.splice(0)) socket.destroy();
    ends.length = 0;
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  });

  async function decided(of: ConnectFlow): Promise<FlowSnapshot> {
    const parts: FlowSnapshot[] = [];
    await until("a decision", () => {
      parts.push(of.drain());
      const { received, lost } = parts.at(-1)!.outcomes;
      return received + lost > 0;
    });
    const last = parts.at(-1)!;
    const sent = parts.reduce((sum, { outcomes }) => sum + outcomes.sent, 0);
    const discards = Object.assign({}, ...parts.map((part) => part.discards)) as FlowSnapshot["discards"];
    return { ...last, outcomes: { ...last.outcomes, sent }, discards };
  }

  const onlyOf = (data: ExponentialHistogramData): number => {
    const times = new Distribution();
    times.mergeData(data);
    expect(times.count).toBe(1);
    return times.max ?? Number.NaN;
  };

  test("each handshake is timed, and ended by a reset at once", async () => {
    for (let i = 1; i <= 5; i++) {
      const plannedMs = performance.now() - 5;
      flow.send(plannedMs);
      const { outcomes, rtt, application, planned, stamps, method, ipFamily } = await decided(flow);
      expect({ method, ipFamily, lost: outcomes.lost, received: outcomes.received }).toEqual({
        method: "tcp_connect",
        ipFamily: 4,
        lost: 0,
        received: 1,
      });
      expect(onlyOf(rtt)).toBeGreaterThan(0);
      expect(onlyOf(rtt)).toBeLessThanOrEqual(onlyOf(application));
      expect(onlyOf(planned)).toBeGreaterThanOrEqual(onlyOf(application) + 0.005);
      expect(stamps[kind === "kernel" ? "kernel" : "user"]).toBe(1);
      await until("the reset", () => ends.length === i);
    }
    expect(new Set(ends)).toEqual(new Set(["ECONNRESET"]));
  });

  test("a refused connection is a loss with its reason, and all refused is 100 % loss", async () => {
    await new Promise<void>((resolve) => void server.close(() => resolve()));
    flow.send(performance.now());
    const { outcomes, errors } = await decided(flow);
    expect(outcomes).toMatchObject({ sent: 1, lost: 1, received: 0 });
    expect(errors).toEqual({ ECONNREFUSED: 1 });
    expect(lossRatio(outcomes)).toBe(1);
  });

  test.runIf(isLibcSupported())(
    "a handshake that nobody answers is lost after the timeout, and ticks meanwhile are left out",
    async () => {
      const libc = await loadLibc();
      const full = KernelSocket.open(libc, { family: SYS.AF_INET, type: SYS.SOCK_STREAM, protocol: 0 });
      full.bind("127.0.0.2", 0);
      // Nobody accepts: with a full queue the kernel drops further connection requests.
      libc.listen(full.fd, 0);
      const { port: tcpPort } = full.localAddress();
      const first = connect(tcpPort, "127.0.0.2").on("error", () => {});
      await once(first, "connect");
      const dead = new ConnectFlow(context, peerAt({ tcpPort }));
      dead.send(performance.now());
      dead.send(performance.now());
      const { outcomes, errors, discards } = await decided(dead);
      expect(outcomes).toMatchObject({ sent: 1, lost: 1, received: 0 });
      expect({ errors, discards }).toEqual({ errors: { timeout: 1 }, discards: { still_waiting: 1 } });
      dead.stop();
      first.destroy();
      full.close();
    },
  );

  test("the first handshakes warm up the path and aren't timed", async () => {
    const warming = manualContext({ warmupPackets: 2 }, kind);
    const cold = new ConnectFlow(warming, peerAt({ tcpPort: port }));
    const discards: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      cold.send(performance.now());
      const snapshot = await decided(cold);
      discards.push(snapshot.discards, snapshot.rtt.count);
    }
    expect(discards).toEqual([{ warmup: 1 }, 0, { warmup: 1 }, 0, {}, 1]);
    cold.stop();
    warming.close();
  });
});
