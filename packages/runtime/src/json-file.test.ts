import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { jsonFile } from "./json-file.ts";

const MAX_BYTES = 1_048_576;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "isochrone-cache-"));
});
afterEach(() => rm(folder, { recursive: true }));

test("what was written is read, and nothing else is left beside it; only the owner can read it", async () => {
  const path = join(folder, "plan.json");
  const cache = jsonFile(path, MAX_BYTES);
  expect(await cache.read()).toBeNull();
  await cache.write({ version: "1" });
  await cache.write({ version: "2" });
  expect(await cache.read()).toEqual({ version: "2" });
  expect(await readdir(folder)).toEqual(["plan.json"]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("a crash in the middle of a write leaves the plan before", async () => {
  const path = join(folder, "plan.json");
  const cache = jsonFile(path, MAX_BYTES);
  await cache.write({ version: "1" });
  await writeFile(`${path}.tmp`, '{"versi');
  expect(await cache.read()).toEqual({ version: "1" });
  await cache.write({ version: "2" });
  expect(await cache.read()).toEqual({ version: "2" });
});

test("half a file, a huge file and a folder are errors that name the cause, not plans", async () => {
  const path = join(folder, "plan.json");
  await writeFile(path, '{"version":');
  await expect(jsonFile(path, MAX_BYTES).read()).rejects.toThrow(SyntaxError);
  await writeFile(path, "x".repeat(2 << 20));
  await expect(jsonFile(path, MAX_BYTES).read()).rejects.toThrow(
    /plan\.json must have at most 1048576 bytes, has 2097152/,
  );
  await mkdir(join(folder, "sub"));
  await expect(jsonFile(join(folder, "sub"), MAX_BYTES).read()).rejects.toThrow(/EISDIR/);
});

test("without a path there is no cache", async () => {
  const cache = jsonFile(null, MAX_BYTES);
  await cache.write({ version: "1" });
  expect(await cache.read()).toBeNull();
});
