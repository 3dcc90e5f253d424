import { randomBytes } from "node:crypto";
import { Distribution } from "@isochrone/telemetry";
import { parseAddress } from "../domain/ip.ts";
import { Keyring } from "../domain/keyring.ts";
import type { EngineConfig, FlowSnapshot, ProbePeer } from "../ports/ports.ts";
import type { EngineContext } from "../engine/context.ts";
import { createLoop } from "../engine/create-loop.ts";
import { TcpFlow } from "../engine/tcp-flow.ts";
import { UdpFlow } from "../engine/udp-flow.ts";

/** Restart period of a stuck loop: a lost packet must not end the run. Milliseconds. */
const PUSH_MS = 50;

export interface ClosedLoopOptions {
  readonly config: EngineConfig;
  readonly peer: ProbePeer;
  readonly method: "udp_rr" | "tcp_rr";
  /** Duration of the measurement and of the uncounted warm-up before it, ms. */
  readonly durationMs: number;
  readonly warmupMs: number;
}

/**
 * Request/response as in netperf: each request follows the previous answer, on the flows that measure peers.
 * It occupies the calling thread: use it for benchmarks and diagnosis, in their own thread.
 * @throws RangeError for an identity that is not an address
 */
export async function runClosedLoop(options: ClosedLoopOptions): Promise<FlowSnapshot> {
  const { config, peer, method, durationMs, warmupMs } = options;
  const monotonic = (): number => performance.now();
  const ended = Promise.withResolvers<void>();
  const { loop } = await createLoop({ monotonic, onError: (error) => ended.reject(error) });
  const identity = parseAddress(config.identity);
  if (identity === null) throw new RangeError(`identity must be an IP address, got ${config.identity}`);
  const context: EngineContext = {
    config,
    identity,
    keys: new Keyring(config.keys, config.signingKeyId),
    sockets: loop.sockets,
    timetable: loop.timetable,
    stalls: loop.watch(config.stallBoundMs),
    lateness: { current: new Distribution() },
    pace: { factor: 1 },
    monotonic,
    random: () => Math.random(),
    nonce: () => randomBytes(8).readBigUInt64BE(),
    afterPoll: (run) => loop.afterPoll(run),
  };
  let flow: UdpFlow | TcpFlow | null = null;
  let sentMs = Number.NEGATIVE_INFINITY;
  const next = (): void => {
    sentMs = monotonic();
    flow?.prepare();
    flow?.send();
  };
  flow = method === "udp_rr" ? new UdpFlow(context, peer, next) : new TcpFlow(context, peer, next);
  const push = (): void => {
    const nowMs = monotonic();
    if ((flow?.isOpen ?? false) && nowMs - sentMs >= PUSH_MS) next();
    loop.timetable.at(nowMs + PUSH_MS, push);
  };
  loop.start();
  flow.open();
  push();
  const startMs = monotonic() + warmupMs;
  loop.timetable.at(startMs, () => void flow?.drain());
  loop.timetable.at(startMs + durationMs, () => ended.resolve());
  try {
    await ended.promise;
    return flow.drain();
  } finally {
    flow.stop();
    loop.close();
  }
}
