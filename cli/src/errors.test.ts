import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { nextStepOf } from "./errors.ts";
import { createProgram } from "./program.ts";

async function errorOf(...args: readonly string[]): Promise<unknown> {
  return await createProgram(() => undefined)
    .parseAsync(args, { from: "user" })
    .then(
      () => "it was done",
      (error: unknown) => error,
    );
}

async function serving(status: number, body: unknown): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function left(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

describe("the next step after an error", () => {
  it.each([
    [["graph"], "--server"],
    [["explain", "web"], "--server"],
    [["descheduler"], "--server"],
    [["lab", "matrix"], "--lab"],
    [["lab", "record"], "--lab"],
  ])("of %j, where nobody answers, is to start it or to name another address by %s", async (args, option) => {
    const error = await errorOf(...args, option, await left());
    expect(nextStepOf(error)).toBe(`is npm start running? ${option} URL names another address`);
  });

  it("is a token, where one is asked for", async () => {
    const error = await errorOf("graph", "--server", await serving(401, {}));
    expect(nextStepOf(error)).toBe("give a token by --token-file FILE");
  });

  it("is a kubeconfig, where the cluster's one gives no credentials, whatever its words", () => {
    const named = (name: string): Error => Object.assign(new Error("some words"), { name });
    const next = nextStepOf(new Error("the pods can't be read", { cause: named("CredentialsError") }));
    expect(next).toBe("name the cluster's file by --kubeconfig FILE");
    expect(nextStepOf(named("StoreError"))).toBeNull();
  });

  it("is none where the error says all", async () => {
    expect(nextStepOf(await errorOf("graph", "--server", await serving(200, {})))).toBeNull();
    expect(nextStepOf(new Error("port 1 is taken"))).toBeNull();
  });
});
