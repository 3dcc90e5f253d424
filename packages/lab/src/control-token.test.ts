import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  listLabs,
  newControlToken,
  readControlToken,
  storeControlToken,
  storePage,
} from "./control-token.ts";

let home: string;
let runtime: string;
let env: Record<string, string>;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "isochrone-home-"));
  runtime = join(home, "run");
  await mkdir(runtime);
  env = { HOME: home, XDG_RUNTIME_DIR: runtime };
});
afterEach(() => rm(home, { recursive: true, force: true }));

test("tokens are long and never the same", () => {
  const tokens = new Set(Array.from({ length: 100 }, () => newControlToken()));
  expect(tokens.size).toBe(100);
  for (const token of tokens) expect(token).toMatch(/^[\w-]{43}$/);
});

test("a stored token is found by the address of its controls, and only this user can read the file", async () => {
  const { file } = await storeControlToken(8082, "abc", env);
  expect(file).toBe(join(runtime, "isochrone", "lab-8082.token"));
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(runtime, "isochrone"))).mode & 0o777).toBe(0o700);
  for (const url of ["http://127.0.0.1:8082", "http://localhost:8082/", "http://[::1]:8082"])
    expect(await readControlToken(url, env)).toBe("abc");
  expect(await readControlToken("http://127.0.0.1:8083", env)).toBeNull();
});

test("a token is never given for the address of another machine", async () => {
  await storeControlToken(8082, "abc", env);
  for (const url of ["http://lab.example:8082", "http://10.0.0.1:8082", "http://localhost.evil.example:8082"])
    expect([url, await readControlToken(url, env)]).toEqual([url, null]);
});

test("a file that others could read is replaced, not filled", async () => {
  await mkdir(join(runtime, "isochrone"));
  const file = join(runtime, "isochrone", "lab-1.token");
  await writeFile(file, "old");
  await chmod(file, 0o644);
  await storeControlToken(1, "new", env);
  expect([(await stat(file)).mode & 0o777, await readFile(file, "utf8")]).toEqual([0o600, "new\n"]);
});

test("without a runtime folder the token is in the state folder of the user's home", async () => {
  const { file } = await storeControlToken(8082, "abc", { HOME: home });
  expect(file).toBe(join(home, ".local", "state", "isochrone", "lab-8082.token"));
  const relative = await storeControlToken(8083, "abc", { HOME: home, XDG_RUNTIME_DIR: "run" });
  expect(relative.file).toBe(join(home, ".local", "state", "isochrone", "lab-8083.token"));
});

test("a lab that ends takes its own token away, not that of the one after it", async () => {
  const first = await storeControlToken(8082, "first", env);
  const second = await storeControlToken(8082, "second", env);
  await first.remove();
  expect(await readControlToken("http://127.0.0.1:8082", env)).toBe("second");
  await second.remove();
  expect(await readdir(join(runtime, "isochrone"))).toEqual([]);
});

test("where nothing can be written the error names every file that was tried", async () => {
  const blocked = join(home, "file");
  await writeFile(blocked, "");
  await expect(storeControlToken(8082, "abc", { HOME: blocked, XDG_RUNTIME_DIR: blocked })).rejects.toThrow(
    /must be stored in a folder that this user can write to, got .*file\/isochrone\/lab-8082\.token: .*; .*\.local\/state/,
  );
});

test("labs are listed with the addresses of their pages, those of older releases are not", async () => {
  const later = await storeControlToken(9002, "b", env, "http://127.0.0.1:9000");
  await storeControlToken(8082, "a", env, "http://127.0.0.1:8080");
  await storeControlToken(7, "old", env);
  await writeFile(join(runtime, "isochrone", "other.txt"), "x\nhttp://127.0.0.1:1\n");
  expect(await readControlToken("http://127.0.0.1:9002", env)).toBe("b");
  const first = { page: "http://127.0.0.1:8080", lab: "http://127.0.0.1:8082" };
  expect(await listLabs(env)).toEqual([
    first,
    { page: "http://127.0.0.1:9000", lab: "http://127.0.0.1:9002" },
  ]);
  const without = await storePage("http://127.0.0.1:9100", env);
  expect((await listLabs(env)).at(-1)).toEqual({ page: "http://127.0.0.1:9100", lab: null });
  await without.remove();
  await later.remove();
  expect(await listLabs(env)).toEqual([first]);
  expect(await listLabs({ HOME: join(home, "nowhere") })).toEqual([]);
});
