import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { loadNetPing } from "./module.ts";

describe("net-ping's module", () => {
  test("one that isn't there is said to be not installed, and nothing more", async () => {
    await expect(loadNetPing("net-ping-not-there")).rejects.toThrow(/^net-ping-not-there is not installed$/);
  });

  test("one that is there but broken is told from that", async () => {
    const broken = "data:text/javascript,throw new Error('no native part was built')";
    await expect(loadNetPing(broken)).rejects.toThrow(/can't be loaded: no native part was built$/);
  });

  test("one whose native part no install has built says how to build it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "isochrone-unbuilt-"));
    try {
      const file = join(folder, "index.cjs");
      await writeFile(file, 'var raw = require ("./build/Release/raw.node");\n');
      await expect(loadNetPing(pathToFileURL(file).href)).rejects.toThrow(
        /is not built: npm run build:net-ping builds it$/,
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
