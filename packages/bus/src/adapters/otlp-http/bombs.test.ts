// Decompression bombs: measures the receiver's memory, in a separate process, and its time.
import { encodeMetrics } from "@isochrone/telemetry";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routeForeign } from "./routing.ts";
import { statusMessageOf } from "./wire.ts";

const MIB = 1024 * 1024;
const UNPACKED_BYTES = 16 * MIB;

let child: ReturnType<typeof spawn>;
let lines: Interface;
let url: string;

async function nextLine(): Promise<string> {
  const [line] = (await once(lines, "line")) as [string];
  return line;
}

async function used(): Promise<{ readonly peakBytes: number; readonly publishedBytes: number }> {
  const answer = nextLine();
  child.stdin!.write("?\n");
  const [peakBytes, publishedBytes] = (await answer).split(" ").map(Number) as [number, number];
  return { peakBytes, publishedBytes };
}

beforeAll(async () => {
  const program = join(import.meta.dirname, "testing/ingest-process.ts");
  child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] });
  lines = createInterface({ input: child.stdout! });
  url = `http://127.0.0.1:${await nextLine()}/v1/metrics`;
}, 30_000);

afterAll(async () => {
  const ended = once(child, "exit");
  child.stdin!.end();
  await ended;
});

function post(body: Uint8Array): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/x-protobuf", "content-encoding": "gzip" },
    body: new Uint8Array(body),
  });
}

const usage = encodeMetrics({
  resource: { "k8s.node.name": "n1" },
  scope: { name: "test" },
  metrics: [{ name: "container_cpu", kind: "gauge", points: [{ attributes: {}, timeMs: 1, value: 1 }] }],
});

describe("bodies that unpack to much more than they are", () => {
  test.each([
    ["zeros, which are no message", Buffer.alloc(UNPACKED_BYTES)],
    ["empty resources", Buffer.alloc(UNPACKED_BYTES, Buffer.of(0x0a, 0x00))],
    ["fields that nobody knows", Buffer.alloc(UNPACKED_BYTES, Buffer.of(0x10, 0x00))],
  ])(
    "64 of them at once (%s) take less than 250 MiB, and an honest one beside them is taken",
    async (_, bomb) => {
      const packed = gzipSync(bomb);
      expect(packed.length).toBeLessThan(20_000);
      const before = await used();
      const answers = await Promise.all(Array.from({ length: 64 }, () => post(packed)));
      const honest = await post(gzipSync(usage));
      expect(honest.status).toBe(200);
      for (const { status } of answers) expect([400, 429]).toContain(status);
      const refused = answers.filter(({ status }) => status === 400);
      expect(refused.length).toBeGreaterThan(0);
      for (const { status, headers } of answers)
        expect([status, headers.get("retry-after")]).toEqual(status === 429 ? [429, "1"] : [400, null]);
      const after = await used();
      expect(after.peakBytes - before.peakBytes).toBeLessThan(250 * MIB);
      expect(after.publishedBytes - before.publishedBytes).toBe(usage.length);
    },
  );
});

describe("bodies of too many parts", () => {
  const repeated = (piece: Uint8Array, times: number): Uint8Array =>
    Buffer.alloc(piece.length * times, piece);
  const resourceOf = (node: string): Uint8Array =>
    encodeMetrics({ resource: { "k8s.node.name": node }, scope: { name: "t" }, metrics: [] });

  test("the largest batch of a Collector passes: 8,192 resources of 25 attributes, on 100 nodes", () => {
    const batch = Buffer.concat(
      Array.from({ length: 8_192 }, (_, at) => {
        const attributes = Array.from({ length: 25 }, (__, index) => [`attribute.${index}`, "value"]);
        const resource = { ...Object.fromEntries(attributes), "k8s.node.name": `node-${at % 100}` };
        return encodeMetrics({ resource, scope: { name: "t" }, metrics: [] });
      }),
    );
    const routed = routeForeign(batch, "address", {});
    expect(routed.length).toBe(100);
    expect(routed.reduce((bytes, { record }) => bytes + record.value.length, 0)).toBe(batch.length);
  });

  test("more resources, more nodes or more fields than that are refused, and the rule is said", async () => {
    expect(() => routeForeign(repeated(resourceOf("n"), 16_385), "a", {})).toThrow(
      "it must hold at most 16384 resources",
    );
    const nodes = Array.from({ length: 4_097 }, (_, at) => resourceOf(`n${at}`));
    expect(() => routeForeign(Buffer.concat(nodes), "a", {})).toThrow(
      "it must hold at most 4096 topics and nodes",
    );
    const response = await post(gzipSync(repeated(Buffer.of(0x10, 0x00), 600_001)));
    expect(response.status).toBe(400);
    expect(statusMessageOf(new Uint8Array(await response.arrayBuffer()))).toBe(
      "the body is not an ExportMetricsServiceRequest: too many fields",
    );
  });
});
