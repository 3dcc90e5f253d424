// Runs processes on loopback, or on nodes of a network namespace lab whose cables can be unplugged.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { NamespaceLab } from "@isochrone/lab/namespaces";
import { startKafka, type KafkaCluster } from "../kafka/index.ts";
import { freePort } from "../common/free-port.ts";
import type { Spawn } from "./spawn.ts";

export interface Seat {
  readonly host: string;
  readonly port: number;
  readonly spawn: Spawn;
  /** Returns the body of a GET to the process. Rejects without a 2xx response. */
  get(path: string, timeoutMs: number): Promise<string>;
  /** Null: there is no cable to unplug. */
  readonly setPlugged: ((plugged: boolean) => Promise<void>) | null;
}

export interface Testbed {
  startKafka(brokers: 1 | 3): Promise<KafkaCluster>;
  brokerCables(): readonly ((plugged: boolean) => Promise<void>)[];
  seat(name: string): Promise<Seat>;
  close(): Promise<void>;
}

export function loopbackTestbed(): Testbed {
  const taken = new Set<number>();
  return {
    startKafka: (brokers) => startKafka({ brokers }),
    brokerCables: () => [],
    async seat() {
      const port = await freePort("127.0.0.1", taken);
      return {
        host: "127.0.0.1",
        port,
        spawn,
        setPlugged: null,
        async get(path, timeoutMs) {
          const response = await fetch(`http://127.0.0.1:${port}${path}`, {
            signal: AbortSignal.timeout(timeoutMs),
          });
          const text = await response.text();
          if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
          return text;
        },
      };
    },
    close: async () => undefined,
  };
}

const PORT = 8080;
/** Sends the request from the process' own namespace, so that it works while the cable is unplugged. */
const ASK = `
const [url, ms] = process.argv.slice(1);
const response = await fetch(url, { signal: AbortSignal.timeout(Number(ms)) });
process.stdout.write(await response.text());
process.exitCode = response.ok ? 0 : 1;`;

export async function namespaceTestbed(names: readonly string[], brokers: 1 | 3): Promise<Testbed> {
  const brokerNodes = Array.from({ length: brokers }, (_, i) => `broker-${i + 1}`);
  const lab = await NamespaceLab.create({ nodes: [...brokerNodes, ...names], topology: "bridge" });
  const spawnOn =
    (node: string): Spawn =>
    (command, args, options) =>
      lab.spawn(node, command, args, options);
  return {
    startKafka: () =>
      startKafka({
        brokers,
        host: (nodeId) => lab.address(`broker-${nodeId}`),
        spawn: (nodeId, command, args, options) => lab.spawn(`broker-${nodeId}`, command, args, options),
      }),
    brokerCables: () => brokerNodes.map((node) => (plugged) => lab.setPlugged(node, plugged)),
    async seat(name) {
      const host = lab.address(name);
      return {
        host,
        port: PORT,
        spawn: spawnOn(name),
        setPlugged: (plugged) => lab.setPlugged(name, plugged),
        async get(path, timeoutMs) {
          const child = lab.spawn(
            name,
            process.execPath,
            ["--input-type=module", "-e", ASK, `http://${host}:${PORT}${path}`, String(timeoutMs)],
            { stdio: ["ignore", "pipe", "pipe"] },
          );
          const chunks: Buffer[] = [];
          child.stdout!.on("data", (chunk: Buffer) => void chunks.push(chunk));
          const [code] = (await once(child, "close")) as [number | null];
          const text = Buffer.concat(chunks).toString();
          if (code !== 0) throw new Error(`${name} ${path} failed: ${text}`);
          return text;
        },
      };
    },
    close: () => lab.close(),
  };
}
