import { KINDS } from "@isochrone/kubernetes";
import { ManualClock } from "@isochrone/runtime/testing";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { loadDump } from "./dump-store.ts";

const folder = mkdtempSync(join(tmpdir(), "isochrone-dump-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, "dump.json");
const load = async (text: string | Buffer) => {
  writeFileSync(file, text);
  return await loadDump(file, new ManualClock());
};
const podWith = (resources: object) => ({
  metadata: { name: "p", namespace: "shop" },
  spec: { containers: [{ name: "c", resources }] },
});
const list = (kind: string, ...items: object[]): string => JSON.stringify({ apiVersion: "v1", kind, items });

test("reads several lists in one file, of UTF-16 and in gzip too, and completes their objects", async () => {
  const limits = { cpu: "8" };
  const text = `${list("NodeList", { metadata: { name: "n" } })}\n${list("PodList", podWith({ limits }))}`;
  for (const bytes of [text, Buffer.from(text, "utf16le"), gzipSync(text)]) {
    const store = await load(bytes);
    expect((await store.list(KINDS.node)).items.map(({ metadata }) => metadata.name)).toEqual(["n"]);
    const [pod] = (await store.list(KINDS.pod)).items;
    expect(pod?.spec).toMatchObject({ containers: [{ resources: { limits, requests: limits } }] });
  }
});

test.each([
  ["kind: List", "must be JSON"],
  ["[]", "must hold Kubernetes Lists with items, or objects"],
  [list("List", { kind: "Pod" }), "must hold objects with kind and metadata.name"],
  [
    list("PodList", podWith({ requests: { cpu: "8 cores" } })),
    'Pod shop/p: spec.containers.0.resources.requests.cpu must be a quantity of 0 or more, such as 500m or 64Gi, got "8 cores"',
  ],
])("refuses %s", async (text, problem) => {
  await expect(load(text)).rejects.toThrow(`aggregator.dumpFile ${file} ${problem}`);
});
