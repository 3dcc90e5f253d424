import { ManualClock } from "@isochrone/runtime/testing";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { KubeconfigCredentials } from "./kubeconfig.ts";

const folder = mkdtempSync(join(tmpdir(), "isochrone-kubeconfig-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, "config");
const names = ["one", "two"];
writeFileSync(
  file,
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: names.map((name) => ({ name, cluster: { server: `https://${name}.example` } })),
    users: names.map((name) => ({ name, user: { token: name } })),
    contexts: names.map((name) => ({ name, context: { cluster: name, user: name, namespace: name } })),
    "current-context": "one",
  }),
);

describe("a kubeconfig", () => {
  it.each([
    [undefined, "one"],
    ["two", "two"],
  ])("with the context %s asks the cluster %s", async (context, name) => {
    const credentials = new KubeconfigCredentials(file, new ManualClock(), { context });
    const { server, headers } = await credentials.login();
    expect([server.hostname, headers["authorization"]]).toEqual([`${name}.example`, `Bearer ${name}`]);
    expect(await credentials.namespace()).toBe(name);
  });

  it("names the contexts that there are when it has not the one that is asked for", async () => {
    const credentials = new KubeconfigCredentials(file, new ManualClock(), { context: "three" });
    await expect(credentials.login()).rejects.toThrow('it has no context "three", but one, two');
  });
});

function written(name: string, json: object): string {
  mkdirSync(join(folder, name), { recursive: true });
  const path = join(folder, name, "config");
  writeFileSync(path, JSON.stringify(json));
  return path;
}

function one(name: string, user: object, cluster: object = {}, more: object = {}): object {
  return {
    clusters: [{ name, cluster: { server: `https://${name}.example`, ...cluster } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    ...more,
  };
}

const loginOf = (
  files: string | readonly string[],
  options: ConstructorParameters<typeof KubeconfigCredentials>[2] = {},
) => new KubeconfigCredentials(files, new ManualClock(), options).login();

describe("what kubectl takes", () => {
  it("a token file, relative to the kubeconfig, wins over a token", async () => {
    const path = written(
      "token",
      one("a", { token: "old", tokenFile: "token" }, {}, { "current-context": "a" }),
    );
    writeFileSync(join(folder, "token", "token"), "fresh\n");
    expect((await loginOf(path)).headers["authorization"]).toBe("Bearer fresh");
  });

  it("several files: the first one counts for each name and for the current context", async () => {
    const first = written("first", one("a", { token: "first" }));
    const second = written("second", {
      ...one("a", { token: "second" }, { "certificate-authority": "ca.pem" }),
      "current-context": "b",
    });
    const third = written("third", {
      ...one("b", { token: "third" }, { "certificate-authority": "ca.pem" }),
      "current-context": "a",
    });
    writeFileSync(join(folder, "third", "ca.pem"), "of the third");
    const files = [join(folder, "missing"), first, second, third];
    const login = await loginOf(files);
    expect([login.server.hostname, login.headers["authorization"], String(login.tls.ca)]).toEqual([
      "b.example",
      "Bearer third",
      "of the third",
    ]);
    expect((await loginOf(files, { context: "a" })).headers["authorization"]).toBe("Bearer first");
    await expect(loginOf([join(folder, "x"), join(folder, "y")])).rejects.toThrow(
      `none of the files exists: ${join(folder, "x")}`,
    );
    await expect(loginOf([join(folder, "x")])).rejects.toMatchObject({ name: "CredentialsError" });
  });

  it.each([
    ["http://127.0.0.1:8001", {}, "http://127.0.0.1:8001"],
    ["127.0.0.1:8001", {}, "http://127.0.0.1:8001"],
    ["a.example:6443", { "insecure-skip-tls-verify": true }, "https://a.example:6443"],
  ])("the server %s", async (server, cluster, origin) => {
    const path = written("server", one("a", {}, { server, ...cluster }, { "current-context": "a" }));
    expect((await loginOf(path)).server.origin).toBe(origin);
  });

  it("a context without a user, an incomplete entry of others, and an empty file", async () => {
    const json = {
      clusters: [
        { name: "a", cluster: { server: "https://a", "insecure-skip-tls-verify": true } },
        { name: "b" },
      ],
      contexts: [{ name: "a", context: { cluster: "a" } }, { name: "b" }],
      "current-context": "a",
    };
    const empty = written("empty", {});
    writeFileSync(empty, "");
    const { headers, tls } = await loginOf([empty, written("anonymous", json)]);
    expect([headers, tls]).toEqual([{}, { rejectUnauthorized: false }]);
    await expect(loginOf(written("none", { ...json, "current-context": "b" }))).rejects.toThrow(
      "its current context b names no cluster with a server",
    );
  });

  it("impersonated groups, uid and further fields", async () => {
    const user = {
      as: "jane",
      "as-groups": ["dev", "ops"],
      "as-uid": "7",
      "as-user-extra": { "Example.com/x": ["1"] },
    };
    expect((await loginOf(written("as", one("a", user, {}, { "current-context": "a" })))).headers).toEqual({
      "impersonate-user": "jane",
      "impersonate-group": ["dev", "ops"],
      "impersonate-uid": "7",
      "impersonate-extra-example.com%2Fx": ["1"],
    });
  });

  it("the proxy of the environment, through which the request goes", async () => {
    const asked: string[] = [];
    const proxy = createServer().on("connect", ({ url = "" }, socket) => {
      asked.push(url);
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    });
    await new Promise<void>((resolve) => void proxy.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = proxy.address() as AddressInfo;
      const path = written("proxy", one("a", {}, {}, { "current-context": "a" }));
      const env = { HTTPS_PROXY: `127.0.0.1:${port}` };
      const { agent } = await loginOf(path, { env });
      await new Promise((resolve) =>
        request({ host: "a.example", port: 443, protocol: "https:", agent }).on("error", resolve).end(),
      );
      expect(asked).toEqual(["a.example:443"]);
      expect((await loginOf(path, { env: { ...env, NO_PROXY: ".example" } })).agent).toBeUndefined();
    } finally {
      proxy.close();
    }
  });
});
