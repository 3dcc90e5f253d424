// Latency added by the dispatcher, next to a minimal round-robin proxy.
import { byDeadline, byLeastRequest, EndpointLoad } from "@isochrone/dispatch/endpoints";
import { EndpointPolicy } from "@isochrone/dispatch/learned";
import { DispatchRig } from "@isochrone/dispatcher/testing";
import { boundPort, quantile, seeded } from "@isochrone/primitives";
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Agent, createServer, request, type Server } from "node:http";
import { fileURLToPath } from "node:url";
import { cpuMs } from "../streams/problems.ts";
import type { BenchResult } from "../types.ts";
import type { Asked, Endpoints, Measured } from "./proxy-asker.ts";

const HOST = "127.0.0.1";
const ROUNDS = 5;
const ROUND = { seconds: 3, perSecond: 500 };
const ENDPOINTS = 400;
const DECISIONS = 5_000;
const WARM_UP = 1_000;

export async function run(): Promise<BenchResult[]> {
  return [...decisions(), ...(await added())];
}

async function added(): Promise<BenchResult[]> {
  const asker = fork(fileURLToPath(new URL("proxy-asker.ts", import.meta.url)));
  const rig = await new DispatchRig({ config: {} }).start();
  try {
    const [{ ports }] = (await once(asker, "message")) as [Endpoints];
    await rig.service("web");
    for (const [at, port] of ports.entries()) await rig.slice(`endpoint-${at}`, port);
    const plain = await plainProxy(ports);
    const targets = { direct: ports[0]!, plain: boundPort(plain), dispatcher: rig.port };
    const times: Record<keyof typeof targets, number[]> = { direct: [], plain: [], dispatcher: [] };
    const cpu = { direct: 0, plain: 0, dispatcher: 0 };
    for (let round = 0; round <= ROUNDS; round++)
      for (const name of ["direct", "plain", "dispatcher"] as const) {
        const before = cpuMs();
        const { ms, failed } = await ask(asker, { ...ROUND, port: targets[name] });
        if (failed > 0 && round > 0) throw new Error(`${failed} requests to ${name} failed`);
        // The first round opens connections and compiles code.
        if (round === 0) continue;
        times[name].push(...ms);
        cpu[name] += cpuMs() - before;
      }
    plain.close();
    plain.closeAllConnections();
    const at = (name: keyof typeof targets, share: number): number => quantile(times[name], share)!;
    const beyond = (share: number): number => at("dispatcher", share) - at("direct", share);
    const requests = times.dispatcher.length;
    return [
      below("dispatcher adds at 500 requests/s, p50", beyond(0.5), 1, "ms"),
      below("dispatcher adds at 500 requests/s, p99", beyond(0.99), 3, "ms"),
      peer("dispatcher at 500 requests/s, p50", at("dispatcher", 0.5), at("plain", 0.5), "ms"),
      peer("dispatcher at 500 requests/s, p99", at("dispatcher", 0.99), at("plain", 0.99), "ms"),
      peer("dispatcher, CPU of a request", cpu.dispatcher / requests, cpu.plain / requests, "ms"),
      { name: "direct at 500 requests/s, p50", value: at("direct", 0.5), unit: "ms" },
      { name: "direct at 500 requests/s, p99", value: at("direct", 0.99), unit: "ms" },
    ];
  } finally {
    asker.kill();
    await rig.stop();
  }
}

async function ask(asker: ChildProcess, asked: Asked): Promise<Measured> {
  const answer = once(asker, "message");
  asker.send(asked);
  const [measured] = (await answer) as [Measured];
  return measured;
}

async function plainProxy(ports: readonly number[]): Promise<Server> {
  const agent = new Agent({ keepAlive: true });
  let turn = 0;
  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
    const { method, url, headers } = incoming;
    const port = ports[turn++ % ports.length]!;
    const outgoing = request({ agent, host: HOST, port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.once("error", () => response.destroy());
    incoming.pipe(outgoing);
  });
  server.listen(0, HOST);
  await once(server, "listening");
  return server;
}

function decisions(): BenchResult[] {
  const learned = new EndpointPolicy(1);
  const policies: Readonly<Record<string, typeof byDeadline>> = {
    deadline: byDeadline,
    "least-request": byLeastRequest,
    learned: (...asked) => learned.choose(...asked),
  };
  return Object.entries(policies).map(([name, choose]) => {
    const draw = seeded(1);
    const candidates = Array.from({ length: ENDPOINTS }, (_, at) => {
      const load = new EndpointLoad();
      for (let each = 0; each < 3 * draw(); each++) load.answered(5 + 20 * draw(), load.sent(), 0);
      load.reported({ utilization: draw(), requestsPerSecond: 100 * draw(), errorsPerSecond: 0 }, 0);
      return { load, roundTripMs: 30 * draw(), isFar: at % 5 !== 0 };
    });
    const times: number[] = [];
    for (let at = 0; at < WARM_UP + DECISIONS; at++) {
      const began = cpuMs();
      choose(candidates, { leftMs: 100 * draw(), workMs: 10, nowMs: at / 10 }, draw);
      if (at >= WARM_UP) times.push(cpuMs() - began);
    }
    return below(`choice by ${name} among 400 endpoints, p99`, quantile(times, 0.99)!, 1, "ms of CPU");
  });
}

function below(name: string, value: number, target: number, unit: string): BenchResult {
  return { name, value, unit, target: `< ${target}`, met: value < target };
}

function peer(name: string, value: number, other: number, unit: string): BenchResult {
  return { name, value, unit, peer: "a proxy of a few lines", ratio: value / other };
}
