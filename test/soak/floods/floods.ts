// Floods with a compromised node's token. All come from 127.0.0.66.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { KINDS } from "@isochrone/kubernetes";
import type { Random } from "@isochrone/runtime";
import { encodeHeaders, encodeMetrics, RESOURCE_ATTRIBUTES } from "@isochrone/telemetry";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { ATTACKER_NODE, ATTACKER_TOKEN, bearer } from "./accounts.ts";
import { rttMetrics } from "./honest.ts";

interface Target {
  readonly url: string;
  readonly nodes: readonly string[];
  readonly random: Random;
  readonly signal: AbortSignal;
  create(object: KubernetesObject): void;
}

export interface Flood {
  /** Row of the findings list that the flood repeats. */
  readonly row: number;
  readonly about: string;
  run(target: Target): Promise<void>;
}

const ATTACKER = "127.0.0.66";
const MIB = 2 ** 20;
const PROTOBUF = { "content-type": "application/x-protobuf" };
const PAUSE_MS = 20;

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

function post(url: string, body: Uint8Array, headers: Record<string, string>): Promise<void> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const options = { host: hostname, port, path: "/v1/metrics", method: "POST", localAddress: ATTACKER };
    const sent = request(
      { ...options, headers: { ...PROTOBUF, ...bearer(ATTACKER_TOKEN), ...headers }, agent: false },
      (response) => {
        response.resume().once("close", () => resolve());
      },
    );
    sent.on("error", () => resolve());
    sent.end(body);
  });
}

async function workers(count: number, { signal }: Target, work: () => Promise<void>): Promise<void> {
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      await work();
      await pause(PAUSE_MS, signal);
    }
  };
  await Promise.all(Array.from({ length: count }, loop));
}

const bodies: Flood = {
  row: 5,
  about: "64 gzip bodies of 15 kB at once, each 16 MiB unpacked",
  async run(target) {
    const bombs = [Buffer.of(0), Buffer.of(0x0a, 0x00), Buffer.of(0x10, 0x00)].map((fill) =>
      gzipSync(Buffer.alloc(16 * MIB, fill)),
    );
    let sent = 0;
    await workers(64, target, () =>
      post(target.url, bombs[sent++ % bombs.length]!, { "content-encoding": "gzip" }),
    );
  },
};

const attributes: Flood = {
  row: 5,
  about: "records of 1.3 MB whose points have attributes of a kilobyte, each another one",
  async run(target) {
    let sequence = 0;
    const text = (): string => target.random.next().toString(36).repeat(50);
    await workers(1, target, async () => {
      const timeMs = Date.now();
      const points = Array.from({ length: 1_200 }, () => ({
        attributes: { k8s_pod: text(), text: text() },
        timeMs,
        value: 1,
      }));
      const body = encodeMetrics({
        resource: { [RESOURCE_ATTRIBUTES.node]: ATTACKER_NODE },
        scope: { name: "flood" },
        metrics: [{ name: "container_memory_working_set_bytes", kind: "gauge", points }],
      });
      const source = `collector/${ATTACKER_NODE}`;
      await post(
        target.url,
        body,
        encodeHeaders({ source, epoch: "f", sequence: sequence++, sentAtMs: timeMs }),
      );
    });
  },
};

const forged: Flood = {
  row: 6,
  about: "records for others' nodes, by their names, by invented ones, and with their sequence numbers",
  async run(target) {
    const { nodes, random } = target;
    let sent = 0;
    await workers(4, target, async () => {
      const at = sent++;
      const node = nodes[at % nodes.length]!;
      const peer = nodes[(at + 1) % nodes.length]!;
      const timeMs = Date.now();
      const invented = Array.from({ length: 50 }, () => `ghost-${Math.floor(random.next() * 1e9)}`);
      const body = encodeMetrics({
        resource: {
          [RESOURCE_ATTRIBUTES.node]: at % 3 === 0 ? invented[0]! : node,
          [RESOURCE_ATTRIBUTES.serviceName]: "isochrone-probe",
        },
        scope: { name: "flood" },
        metrics: [peer, ...invented].flatMap((name) => rttMetrics(name, 0.01, timeMs)),
      });
      // In turn: own source about other nodes, invented source, honest source with future numbers.
      const source = [`probe/${ATTACKER_NODE}`, `probe/${invented[1]!}`, `probe/${node}`][at % 3]!;
      const epoch = at % 3 === 2 ? "honest" : "f";
      await post(target.url, body, encodeHeaders({ source, epoch, sequence: at + 1, sentAtMs: timeMs }));
    });
  },
};

const DEPLOYMENTS = 25;
const ANNOTATION_BYTES = 256 * 1000;

const channels: Flood = {
  row: 7,
  about: "25 Deployments without replicas that declare 256 kB of channels each",
  async run(target) {
    for (let index = 0; index < DEPLOYMENTS; index++) {
      const declared: string[] = [];
      for (let bytes = 2; bytes < ANNOTATION_BYTES - 20; bytes += declared.at(-1)!.length + 1)
        declared.push(`{"name":"w${declared.length}"}`);
      const annotations = { "isochrone.dev/dependencies": `[${declared.join(",")}]` };
      target.create({
        ...KINDS.deployment,
        metadata: { namespace: "tenant", name: `flood-${index}`, annotations },
        spec: {
          replicas: 0,
          selector: { matchLabels: { app: `flood-${index}` } },
          template: { metadata: { labels: { app: `flood-${index}` } } },
        },
      });
    }
    await pause(2 ** 31 - 1, target.signal);
  },
};

const IDLE = 4_200;
const SLOW = 800;
const STREAMS = 300;
const DRIP_MS = 1_000;

const connections: Flood = {
  row: 10,
  about:
    "4,200 idle connections, 800 bodies that come a byte at a time, 300 held event streams; all come back when cut off",
  async run(target) {
    const { hostname, port, host } = new URL(target.url);
    const open = new Set<Socket>();
    const dripping = new Set<Socket>();
    const hold = (text: string, isSlow: boolean): void => {
      if (target.signal.aborted) return;
      const socket = connect({ host: hostname, port: Number(port), localAddress: ATTACKER });
      open.add(socket);
      if (isSlow) dripping.add(socket);
      socket.on("connect", () => socket.write(text));
      // An open event stream that is never read.
      socket.on("error", () => undefined);
      socket.once("close", () => {
        open.delete(socket);
        dripping.delete(socket);
        void pause(DRIP_MS, target.signal).then(() => hold(text, isSlow));
      });
      if (isSlow) socket.resume();
    };
    const { authorization } = bearer(ATTACKER_TOKEN);
    const common = `host: ${host}\r\nauthorization: ${authorization}\r\n`;
    const head = (line: string, more = ""): string => `${line} HTTP/1.1\r\n${common}${more}\r\n`;
    const slow = head(
      "POST /v1/metrics",
      "content-type: application/x-protobuf\r\ncontent-length: 100000\r\n",
    );
    for (let count = 0; count < STREAMS; count++) hold(head("GET /api/v1/events"), false);
    for (let count = 0; count < SLOW; count++) hold(slow, true);
    for (let count = 0; count < IDLE; count++) {
      hold("", false);
      if (count % 200 === 0) await pause(PAUSE_MS, target.signal);
    }
    while (!target.signal.aborted) {
      for (const socket of dripping) if (socket.writable) socket.write("\n");
      await pause(DRIP_MS, target.signal);
    }
    for (const socket of open) socket.destroy();
  },
};

export const FLOODS: Readonly<Record<string, Flood>> = { bodies, attributes, forged, channels, connections };
