import { mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClusterStore } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { Secret } from "@isochrone/runtime";
import { ManualClock } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { HmacKeySet, KeyStore } from "../ports/ports.ts";
import { FileKeyStore } from "./file-key-store.ts";
import { readKeys, writeKeyLines, writeKeyState } from "./key-text.ts";
import { MemoryKeyStore } from "../testing/memory-key-store.ts";
import { SecretKeyStore } from "./secret-key-store.ts";

const SECRET_A = Buffer.alloc(32, 1).toString("base64");
const SECRET_B = Buffer.alloc(32, 2).toString("base64");
const ONE: HmacKeySet = {
  keys: [{ id: 1, createdAtMs: 1_000, secret: new Secret(SECRET_A) }],
  signingKeyId: 1,
};
const TWO: HmacKeySet = {
  keys: [...ONE.keys, { id: 2, createdAtMs: 2_000, secret: new Secret(SECRET_B) }],
  signingKeyId: 1,
};

const plain = (set: HmacKeySet | null): unknown =>
  set === null
    ? null
    : { ...set, keys: set.keys.map(({ secret, ...key }) => ({ ...key, secret: secret.reveal() })) };

let folder: string;
let file: string;
let cluster: ClusterStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "isochrone-keys-"));
  file = join(folder, "hmac-keys");
  cluster = createMemoryStore({ clock: new ManualClock() });
});

afterEach(() => rm(folder, { recursive: true }));

/** Two clients of one store, as with two replicas. */
const KINDS: Readonly<Record<string, () => readonly [KeyStore, KeyStore]>> = {
  memory: () => {
    const store = new MemoryKeyStore();
    return [store, store];
  },
  file: () => [new FileKeyStore(file), new FileKeyStore(file)],
  Secret: () => [
    new SecretKeyStore(cluster, "isochrone", "keys"),
    new SecretKeyStore(cluster, "isochrone", "keys"),
  ],
};

describe.each(Object.keys(KINDS))("keys in a %s", (kind) => {
  test("an empty store has no keys and no revision", async () => {
    const [store] = KINDS[kind]!();
    expect(await store.read()).toEqual({ set: null, revision: null });
  });

  test("what is written is read, by the other one too, with the revision that writing gave", async () => {
    const [store, other] = KINDS[kind]!();
    const revision = await store.write(ONE, null);
    for (const reader of [store, other]) {
      const stored = await reader.read();
      expect(plain(stored.set)).toEqual(plain(ONE));
      expect(stored.revision).toBe(revision);
    }
    const next = await other.write(TWO, revision);
    expect(next).not.toBe(revision);
    expect(plain((await store.read()).set)).toEqual(plain(TWO));
  });

  test("who writes by an old revision is refused, and changes nothing", async () => {
    const [store, other] = KINDS[kind]!();
    const first = await store.write(ONE, null);
    await expect(other.write(TWO, null)).rejects.toMatchObject({ code: "key_store_conflict" });
    await store.write(TWO, first);
    await expect(other.write(ONE, first)).rejects.toMatchObject({ code: "key_store_conflict" });
    expect(plain((await other.read()).set)).toEqual(plain(TWO));
  });

  test("of many who write at once one succeeds", async () => {
    const [store, other] = KINDS[kind]!();
    const first = await store.write(ONE, null);
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => (index % 2 ? store : other).write(TWO, first)),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const stored = await store.read();
    expect(plain(stored.set)).toEqual(plain(TWO));
    await other.write(ONE, stored.revision);
    expect(plain((await store.read()).set)).toEqual(plain(ONE));
  });
});

describe("the file", () => {
  test("has a line per key, oldest first, and is its owner's alone", async () => {
    const store = new FileKeyStore(file);
    await store.write(TWO, await store.write(ONE, null));
    expect(await readFile(file, "utf8")).toBe(`1:${SECRET_A}\n2:${SECRET_B}\n`);
    const names = await readdir(folder);
    expect(names.toSorted()).toEqual(["hmac-keys", "hmac-keys.state.2"]);
    for (const name of names) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  });

  test("that a crash left behind follows the state at the next start", async () => {
    const store = new FileKeyStore(file);
    const first = await store.write(ONE, null);
    const before = await readFile(file, "utf8");
    await store.write(TWO, first);
    await writeFile(file, before);
    await new FileKeyStore(file).read();
    expect(await readFile(file, "utf8")).toBe(writeKeyLines(TWO));
    await unlink(file);
    await new FileKeyStore(file).read();
    expect(await readFile(file, "utf8")).toBe(writeKeyLines(TWO));
  });

  test("that somebody else wrote is taken over: its first key signs", async () => {
    await writeFile(file, `7:${SECRET_A}, 3:${SECRET_B}\n`);
    const store = new FileKeyStore(file);
    const { set, revision } = await store.read();
    expect(set).toMatchObject({ signingKeyId: 7, keys: [{ id: 7, createdAtMs: null }, { id: 3 }] });
    await store.write(set!, revision);
    expect(await readFile(file, "utf8")).toBe(`7:${SECRET_A}\n3:${SECRET_B}\n`);
    await expect(new FileKeyStore(file).write(ONE, revision)).rejects.toMatchObject({
      code: "key_store_conflict",
    });
  });

  test.each([
    ["no JSON", "{"],
    ["no parts", "{}"],
    ["a broken state", JSON.stringify({ state: "{", lines: `1:${SECRET_A}` })],
    ["no keys", JSON.stringify({ state: '{"signingKeyId":1,"keys":[]}', lines: "" })],
    ["too much", " ".repeat(70_000)],
  ])("whose state is %s is refused without a word of it", async (_, text) => {
    await writeFile(`${file}.state.1`, text);
    const error = await new FileKeyStore(file).read().then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: "key_store_invalid" });
    expect(String(error)).not.toContain(SECRET_A);
  });

  test("in a folder that isn't there can't be read", async () => {
    await expect(new FileKeyStore(join(folder, "none", "keys")).read()).rejects.toThrow("ENOENT");
  });
});

describe("the Secret", () => {
  const ref = { apiVersion: "v1", kind: "Secret", namespace: "isochrone", name: "keys" };

  test("keeps what else stands in it, and may have been made empty before", async () => {
    const metadata = { namespace: "isochrone", name: "keys", labels: { "app.kubernetes.io/part-of": "x" } };
    await cluster.create({ apiVersion: "v1", kind: "Secret", metadata, data: { other: "eA==" } });
    const store = new SecretKeyStore(cluster, "isochrone", "keys");
    const { set, revision } = await store.read();
    expect(set).toBeNull();
    await store.write(ONE, revision);
    const object = await cluster.get(ref);
    expect(object).toMatchObject({ metadata: { labels: metadata.labels }, data: { other: "eA==" } });
    const data = object!["data"] as Record<string, string>;
    expect(Buffer.from(data["hmac-keys"]!, "base64").toString()).toBe(`1:${SECRET_A}\n`);
    expect(Buffer.from(data["hmac-state"]!, "base64").toString()).not.toContain(SECRET_A);
  });

  test("that was deleted meanwhile is a conflict", async () => {
    const store = new SecretKeyStore(cluster, "isochrone", "keys");
    const revision = await store.write(ONE, null);
    await cluster.delete(ref);
    await expect(store.write(TWO, revision)).rejects.toMatchObject({ code: "key_store_conflict" });
    expect(await store.read()).toEqual({ set: null, revision: null });
  });

  test("whose entry is no text is refused", async () => {
    await cluster.create({
      ...ref,
      metadata: { namespace: "isochrone", name: "keys" },
      data: { "hmac-keys": 5 },
    });
    await expect(new SecretKeyStore(cluster, "isochrone", "keys").read()).rejects.toMatchObject({
      code: "key_store_invalid",
    });
  });
});

describe("key text", () => {
  test("a key that the state doesn't know has no age", () => {
    const set = readKeys(writeKeyLines(TWO), writeKeyState(ONE), "x");
    expect(set).toMatchObject({ signingKeyId: 1, keys: [{ createdAtMs: 1_000 }, { createdAtMs: null }] });
  });

  test.each([
    [`x:${SECRET_A}`, "entry 1 must begin with a key id"],
    [SECRET_A, "entry 1 must begin with a key id"],
    [`0:${SECRET_A}`, "entry 1 must begin with a key id"],
    [`1:${SECRET_A}\n65536:${SECRET_A}`, "entry 2 must begin with a key id"],
    [`1:${SECRET_A}\n1:${SECRET_B}`, "each id once, got 1 twice"],
    ["1:c2hvcnQ=", "at least 16 bytes"],
    ["1:!!!!", "at least 16 bytes"],
    [Array.from({ length: 17 }, (_, id) => `${id + 1}:${SECRET_A}`).join(), "at most 16 entries"],
  ])("refuses lines by rule, and shows none of them", (lines, rule) => {
    expect(() => readKeys(lines, null, "file x")).toThrow(rule);
    expect(() => readKeys(lines, null, "file x")).not.toThrow(SECRET_A);
  });

  test("refuses a state whose signing key isn't there", () => {
    const state = writeKeyState({ ...TWO, signingKeyId: 2 });
    expect(() => readKeys(writeKeyLines(ONE), state, "file x")).toThrow("no entry with id 2");
  });
});
