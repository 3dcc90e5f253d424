// CPU per round including kernel time, next to reading the table as text. Needs root and nft.
import { isRecord } from "@isochrone/primitives";
import { connectionLabSupport, runInNamespace } from "../../harness/connections/lab.ts";
import type { BenchResult } from "../types.ts";

const CONNECTIONS = 20_000;
const RUNS = 10;

export async function run(): Promise<BenchResult[]> {
  if (!connectionLabSupport().supported) return [];
  const said: unknown = JSON.parse(runInNamespace("cost-process.ts", CONNECTIONS, RUNS));
  if (!isRecord(said)) throw new Error(`the process must print an object, got ${String(said)}`);
  const { tracked, ours, text } = said;
  const per = (ms: unknown): number => (Number(ms) / Number(tracked)) * 1000;
  return [
    {
      name: `a round over ${Number(tracked)} connections, CPU per 1,000`,
      value: per(ours),
      unit: "ms",
      peer: `/proc/net/nf_conntrack and its bytes: ${per(text).toFixed(1)} ms`,
      ratio: per(ours) / per(text),
    },
  ];
}
