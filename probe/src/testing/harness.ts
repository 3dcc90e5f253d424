// Builders for engine tests: real sockets on 127.0.0.0/8, real time, short timeouts.
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { isLibcSupported, loadLibc } from "@isochrone/kernel-sockets";
import { seededRandom } from "@isochrone/runtime";
import { Distribution } from "@isochrone/telemetry";
import { parseAddress } from "../domain/ip.ts";
import { Keyring } from "../domain/keyring.ts";
import { createRequest, signRequest, type Transport } from "../domain/packet.ts";
import type { EngineContext } from "../engine/context.ts";
import { KernelLoop } from "../engine/kernel-loop.ts";
import type { Loop } from "../engine/loop.ts";
import { UserSpaceLoop } from "../engine/user-space-loop.ts";
import type { EngineConfig, ProbePeer } from "../ports/ports.ts";
import { openNodeTcp } from "../responder/node-tcp.ts";
import { openNodeUdp } from "../responder/node-udp.ts";
import { Responder } from "../responder/responder.ts";

const monotonic = (): number => performance.now();

export const TEST_KEY = { id: 1, secret: Buffer.alloc(32, 0x5a) };
export const TEST_HMAC_KEYS = `1:${TEST_KEY.secret.toString("base64")}`;

export function engineConfig(values: Partial<EngineConfig> = {}): EngineConfig {
  return {
    node: "asker",
    identity: "127.0.0.1",
    bindAddress: "127.0.0.1",
    udpPort: 0,
    tcpPort: 0,
    methods: ["udp_rr", "tcp_rr"],
    intervalMs: 10,
    timeoutMs: 150,
    publishIntervalMs: 100,
    warmupPackets: 0,
    packetBytes: 128,
    keys: [TEST_KEY],
    signingKeyId: 1,
    acceptTranslatedSource: false,
    // Busy machines must not cause discarded samples.
    stallBoundMs: 60_000,
    responderPacketsPerSecond: 100_000,
    zeroCheckIntervalMs: 0,
    connectIntervalMs: 10,
    dscp: 0,
    icmpPayloadBytes: 56,
    icmpProber: "auto",
    ...values,
  };
}

/** Selects the loop and thus the kind of sockets under test. */
export type LoopKind = "kernel" | "node";
export const LOOP_KINDS: readonly LoopKind[] = isLibcSupported() ? ["kernel", "node"] : ["node"];
const libc = isLibcSupported() ? await loadLibc() : null;

export function openLoop(kind: LoopKind): Loop {
  const deps = {
    monotonic,
    onError: (error: unknown) => {
      throw error;
    },
  };
  const loop =
    kind === "kernel" && libc !== null
      ? new KernelLoop({ ...deps, libc, turnMs: 1, yieldToNode: (run) => void setImmediate(run) })
      : new UserSpaceLoop(deps);
  loop.start();
  return loop;
}

export interface TestContext extends EngineContext {
  close(): void;
}

/** A context whose schedule first ticks in an hour: the test calls prepare() and send() itself. */
export function manualContext(values: Partial<EngineConfig> = {}, kind: LoopKind = "node"): TestContext {
  const config = engineConfig({ intervalMs: 3_600_000, connectIntervalMs: 3_600_000, ...values });
  const loop = openLoop(kind);
  return {
    config,
    keys: new Keyring(config.keys, config.signingKeyId),
    identity: bytesOf(config.identity),
    sockets: loop.sockets,
    timetable: loop.timetable,
    stalls: loop.watch(config.stallBoundMs),
    lateness: { current: new Distribution() },
    pace: { factor: 1 },
    monotonic,
    random: () => 1,
    nonce: () => randomBytes(8).readBigUInt64BE(),
    afterPoll: (run) => loop.afterPoll(run),
    close: () => loop.close(),
  };
}

export interface TestResponder {
  readonly responder: Responder;
  readonly keys: Keyring;
  readonly udpPort: number;
  readonly tcpPort: number;
  close(): Promise<void>;
}

export async function openResponder(values: Partial<EngineConfig> = {}): Promise<TestResponder> {
  const config = engineConfig({
    node: "answerer",
    identity: "127.0.0.2",
    bindAddress: "127.0.0.2",
    ...values,
  });
  const keys = new Keyring(config.keys, config.signingKeyId);
  const responder = new Responder({
    config,
    keys,
    identity: bytesOf(config.identity),
    monotonic,
    random: seededRandom(1),
  });
  const udp = await openNodeUdp(responder, { address: config.bindAddress, port: 0 }, monotonic);
  const tcp = await openNodeTcp(responder, { address: config.bindAddress, port: 0 }, monotonic);
  return {
    responder,
    keys,
    udpPort: udp.port,
    tcpPort: tcp.port,
    close: async () => void (await Promise.all([udp.close(), tcp.close()])),
  };
}

export function peerAt(
  ports: { readonly udpPort?: number; readonly tcpPort?: number },
  values: Partial<ProbePeer> = {},
): ProbePeer {
  return {
    node: "answerer",
    zone: "z2",
    region: null,
    address: "127.0.0.2",
    identity: "127.0.0.2",
    udpPort: ports.udpPort ?? 9,
    tcpPort: ports.tcpPort ?? 9,
    bandwidthPort: null,
    ...values,
  };
}

interface RequestValues {
  readonly source?: string;
  readonly destination?: string;
  readonly bytes?: number;
  readonly sequence?: number;
  readonly session?: number;
  readonly transport?: Transport;
  readonly key?: { readonly id: number; readonly secret: Uint8Array };
}

export function signedRequest(values: RequestValues = {}): Buffer {
  const {
    source = "127.0.0.1",
    destination = "127.0.0.2",
    bytes = 128,
    sequence = 0,
    session = 7,
    transport = "udp",
    key = TEST_KEY,
  } = values;
  const fields = {
    bytes,
    transport,
    session,
    nonce: 0x1122334455667788n,
    source: bytesOf(source),
    destination: bytesOf(destination),
  };
  const packet = createRequest(fields, key.id);
  signRequest(packet, sequence, new Keyring([key]));
  return packet;
}

export function bytesOf(address: string): Uint8Array {
  const bytes = parseAddress(address);
  if (bytes === null) throw new Error(`${address} is no address`);
  return bytes;
}

/** Polls for a condition of real I/O; fails with `what` after a minute. */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error(`still waiting for ${what}`);
    await delay(2);
  }
}
