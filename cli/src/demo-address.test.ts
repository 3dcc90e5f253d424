import { storeControlToken, storePage } from "@isochrone/lab";
import { Command } from "commander";
import { listLabs } from "@isochrone/lab/client";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { findDemo } from "./demo-address.ts";
import { kubeconfig, lab, server } from "./program-options.ts";

let env: Record<string, string>;

beforeEach(async () => {
  const home = await mkdtemp(join(tmpdir(), "isochrone-home-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  env = { HOME: home };
});

/** @param labPort null: without controls of the emulator */
async function runningDemo(labPort: number | null): Promise<string> {
  const page = createServer();
  await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void page.close());
  const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
  if (labPort === null) await storePage(url, env);
  else await storeControlToken(labPort, "token", env, url);
  return url;
}

async function asked(...args: readonly string[]): Promise<readonly unknown[]> {
  const command = new Command("plan").addOption(server()).addOption(lab()).addOption(kubeconfig());
  command.option("--cluster <file>");
  command.parse(args, { from: "user" });
  await findDemo(command, env, () => undefined);
  return [command.getOptionValue("server"), command.getOptionValue("lab")];
}

describe("the demo that a command asks", () => {
  it("is the one whose page or controls are given", async () => {
    const page = await runningDemo(9_002);
    await runningDemo(9_012);
    const demo = [page, "http://127.0.0.1:9002"];
    expect(await asked("--server", page)).toEqual(demo);
    expect(await asked("--lab", "http://localhost:9002")).toEqual([page, "http://localhost:9002"]);
    const byName = page.replace("127.0.0.1", "localhost");
    expect(await asked("--server", byName)).toEqual([byName, "http://127.0.0.1:9002"]);
  });

  it("is one without controls of its emulator, too, but not for a command of the emulator", async () => {
    const page = await runningDemo(null);
    expect(await asked("--server", page)).toEqual([page, undefined]);
    expect((await listLabs(env)).map((each) => each.page)).toEqual([page]);
  });

  it("is never another one than the server's", async () => {
    await runningDemo(9_002);
    expect(await asked("--server", "http://graph.example:8080")).toEqual([
      "http://graph.example:8080",
      undefined,
    ]);
  });

  it.each(["--kubeconfig", "--cluster"])("is none, of however many run, for %s", async (option) => {
    await runningDemo(9_002);
    await runningDemo(9_012);
    expect(await asked(option, import.meta.filename)).toEqual([
      "http://127.0.0.1:8080",
      "http://127.0.0.1:8082",
    ]);
  });
});
