import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

interface Entry {
  readonly engines?: unknown;
  readonly resolved?: string;
  readonly link?: boolean;
}

const json = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), "utf8"));
const { packages } = json("package-lock.json") as { readonly packages: Readonly<Record<string, Entry>> };

describe("npm install", () => {
  // npm warns about packages whose engines exclude the Node on the path, although the packaged Node runs
  // them.
  test("has nothing to warn of on an older Node: run tools/lock-complete.mjs after a change of dependencies", () => {
    const warned = Object.entries(packages).filter(
      ([path, { engines }]) => path !== "" && engines !== undefined,
    );
    expect(warned.map(([path]) => path)).toEqual([]);
  });

  test("says itself which Node starts the packaged one, the same in manifest and lock", () => {
    expect(packages[""]?.engines).toEqual({ node: ">=20" });
    expect(json("package.json")).toMatchObject({ engines: { node: ">=20" } });
  });

  test("names no download host in the lock", () => {
    const named = Object.entries(packages).filter(
      ([, { link, resolved }]) => !link && resolved !== undefined,
    );
    expect(named.map(([path]) => path)).toEqual([]);
  });
});
