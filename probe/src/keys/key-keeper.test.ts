import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { PacketKey } from "../ports/ports.ts";
import { KeyKeeper, type KeyKeeperDeps } from "./key-keeper.ts";

const entry = (id: number, byte = id): string => `${id}:${Buffer.alloc(32, byte).toString("base64")}`;

let folder: string;
let path: string;
let logger: MemoryLogger;
const changes: [number[], number][] = [];
const faults: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "isochrone-keys-"));
  path = join(folder, "keys");
  logger = new MemoryLogger();
  changes.length = faults.length = 0;
});
afterEach(() => rm(folder, { recursive: true }));

function keeper(values: Partial<KeyKeeperDeps["config"]> = {}): KeyKeeper {
  return new KeyKeeper({
    config: { authentication: "hmac", hmacKeys: null, hmacKeysFile: path, signingKeyId: 1, ...values },
    logger,
    onChange: (keys, signingKeyId) => void changes.push([idsOf(keys), signingKeyId]),
    onFault: (reason) => void faults.push(reason),
  });
}

const idsOf = (keys: readonly PacketKey[]): number[] => keys.map(({ id }) => id);

describe("keys from settings alone", () => {
  test("are held as they are, and the settings' key signs", async () => {
    const keys = keeper({ hmacKeys: `${entry(1)},${entry(2)}`, hmacKeysFile: null, signingKeyId: 2 });
    await keys.load();
    await keys.refresh();
    expect(keys.state).toEqual({ heldKeyIds: [1, 2], signingKeyId: 2 });
    expect([changes, faults]).toEqual([[], []]);
  });

  test("without authentication there are none, whatever the settings and plans say", async () => {
    const keys = keeper({ authentication: "none", hmacKeys: entry(1) });
    await keys.load();
    keys.plan(1);
    await keys.refresh();
    expect(keys.state).toEqual({ heldKeyIds: [], signingKeyId: 0 });
    expect([changes, faults]).toEqual([[], []]);
  });
});

describe("keys from a file", () => {
  test("are separated by lines or commas, and stand before the settings' of the same id", async () => {
    await writeFile(path, `${entry(1, 9)}\n${entry(2)},${entry(3)}\n`);
    const keys = keeper({ hmacKeys: `${entry(1)},${entry(4)}` });
    await keys.load();
    expect(idsOf(keys.keys)).toEqual([1, 2, 3, 4]);
    expect(keys.keys[0]?.secret[0]).toBe(9);
  });

  test("change when the file is replaced by a swap of symbolic links, as Kubernetes does it", async () => {
    // keys -> ..data/keys, ..data -> ..1; then ..data is atomically replaced by a link to ..2.
    for (const [version, text] of [
      ["..1", entry(1)],
      ["..2", `${entry(1)}\n${entry(2)}`],
    ] as const) {
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, "keys"), text);
    }
    await symlink("..1", join(folder, "..data"));
    await symlink("..data/keys", path);
    const keys = keeper();
    await keys.load();
    await keys.refresh();
    expect(changes).toEqual([]);
    await symlink("..2", join(folder, "..tmp"));
    await rename(join(folder, "..tmp"), join(folder, "..data"));
    await keys.refresh();
    expect(changes).toEqual([[[1, 2], 1]]);
  });

  test.each([
    ["not base64 of a key", "1:abc"],
    ["no id", "nonsense"],
    ["an id twice", `${entry(1)},${entry(1, 2)}`],
    ["nothing", "\n"],
    ["too much", "#".repeat(70_000)],
  ])(
    "stay when the file holds %s; that is counted and logged once, without the secret",
    async (_what, text) => {
      await writeFile(path, `${entry(1)},${entry(2)}`);
      const keys = keeper();
      await keys.load();
      await writeFile(path, text);
      for (let i = 0; i < 3; i++) await keys.refresh();
      expect(idsOf(keys.keys)).toEqual([1, 2]);
      expect(changes).toEqual([]);
      expect(new Set(faults)).toEqual(new Set([text.length > 65_536 ? "file_unreadable" : "file_invalid"]));
      expect(logger.lines).toHaveLength(1);
      expect(JSON.stringify(logger.lines)).not.toContain(Buffer.alloc(32, 2).toString("base64"));
      await writeFile(path, entry(3));
      await keys.refresh();
      expect(changes).toEqual([[[3], 3]]);
    },
  );

  test("stay when the file is gone for a while, and nothing happens when it comes back as it was", async () => {
    await writeFile(path, entry(1));
    const keys = keeper();
    await keys.load();
    await rm(path);
    await keys.refresh();
    await writeFile(path, entry(1));
    await keys.refresh();
    expect(keys.state).toEqual({ heldKeyIds: [1], signingKeyId: 1 });
    expect([changes, faults]).toEqual([[], ["file_unreadable"]]);
  });

  test("must be there at the start, unless the settings have some", async () => {
    await expect(keeper().load()).rejects.toMatchObject({
      code: "probe_config_invalid",
      message: expect.stringMatching(/hmacKeysFile must hold keys of the form id:base64: ENOENT.*keys/),
    });
    const keys = keeper({ hmacKeys: entry(1) });
    await keys.load();
    expect(idsOf(keys.keys)).toEqual([1]);
  });
});

describe("the key that signs", () => {
  test("follows the plan, back too", async () => {
    await writeFile(path, `${entry(1)},${entry(2)}`);
    const keys = keeper();
    await keys.load();
    for (const id of [null, 1, 2, 2, 1, 2, null]) keys.plan(id);
    expect(changes.map(([, signing]) => signing)).toEqual([2, 1, 2, 1]);
  });

  test("stays when the plan names one that isn't held, counted and logged once; it changes when that comes", async () => {
    await writeFile(path, entry(1));
    const keys = keeper();
    await keys.load();
    for (let i = 0; i < 3; i++) keys.plan(2);
    expect([keys.signingKeyId, faults]).toEqual([1, ["signing_key_not_held"]]);
    expect(logger.lines).toHaveLength(1);
    await writeFile(path, `${entry(1)},${entry(2)}`);
    await keys.refresh();
    expect(changes).toEqual([[[1, 2], 2]]);
  });

  test("is another that is held when the file drops it", async () => {
    await writeFile(path, `${entry(1)},${entry(2)}`);
    const keys = keeper();
    await keys.load();
    await writeFile(path, entry(2));
    await keys.refresh();
    expect(changes).toEqual([[[2], 2]]);
    keys.plan(1);
    expect([keys.signingKeyId, faults]).toEqual([2, ["signing_key_not_held"]]);
  });
});
