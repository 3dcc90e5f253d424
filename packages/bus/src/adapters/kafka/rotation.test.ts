// Rotates certificate and password files while a client runs, and checks what a server sees. The server
// closes each connection after the handshake, so no broker is needed.
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type Server } from "node:tls";
import { loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger, TestAuthority, type TestCertificate } from "@isochrone/runtime/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { kafkaOptions } from "../../open-bus.ts";
import { busSettings } from "../../settings.ts";
import { KAFKA_CLIENTS } from "./client/options.ts";
import { createKafkaBus } from "./index.ts";

let folder: string;
let authority: TestAuthority;
let server: Server;
let seen: string[];
const files = (): TestCertificate => ({
  certFile: join(folder, "mounted.crt"),
  keyFile: join(folder, "mounted.key"),
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "isochrone-rotation-"));
  authority = await TestAuthority.create(folder);
  const own = await authority.issue("broker", ["127.0.0.1"]);
  seen = [];
  server = createServer({
    cert: await readFile(own.certFile),
    key: await readFile(own.keyFile),
    ca: await authority.ca(),
    requestCert: true,
  });
  server.on("secureConnection", (socket) => {
    seen.push(String(socket.getPeerX509Certificate()?.subject));
    socket.destroy();
  });
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterEach(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

async function mount(name: string): Promise<void> {
  const { certFile, keyFile } = await authority.issue(name);
  await copyFile(certFile, files().certFile);
  await copyFile(keyFile, files().keyFile);
}

function options(more: object = {}) {
  const { port } = server.address() as AddressInfo;
  const { bus } = loadSettings([busSettings], {
    env: {},
    file: {
      bus: {
        kind: "kafka",
        brokers: [`127.0.0.1:${port}`],
        tls: true,
        caFile: authority.caFile,
        ...files(),
        ...more,
      },
    },
  });
  const logger = new MemoryLogger();
  return { logger, kafka: kafkaOptions(bus, { clock: systemClock, random: systemRandom, logger }) };
}

it.each(KAFKA_CLIENTS)(
  "%s shows the new certificate at its next connection",
  async (client) => {
    await mount("first-client");
    const { kafka } = options({ client });
    const bus = createKafkaBus({ ...kafka, retryInitialMs: 20, retryMaxMs: 50, deliveryTimeoutMs: 500 });
    const shown = async (name: string): Promise<boolean> => {
      // Delivery always fails here, but each attempt connects.
      await bus.publish("t", [{ key: "k", value: new Uint8Array(1), headers: {} }]).catch(() => undefined);
      return seen.includes(`CN=${name}`);
    };
    await expect.poll(() => shown("first-client"), { timeout: 15_000 }).toBe(true);
    await mount("second-client");
    await expect.poll(() => shown("second-client"), { timeout: 15_000 }).toBe(true);
    await bus.close();
  },
  40_000,
);

it("a password is the file's newest; a file that is gone or being written leaves the last one, and says so once", async () => {
  await mount("client");
  const saslPasswordFile = join(folder, "password");
  await writeFile(saslPasswordFile, "before\n");
  const { kafka, logger } = options({ saslMechanism: "scram-sha-512", saslUsername: "u", saslPasswordFile });
  const password = (): string => kafka.sasl!.password.reveal();
  expect(password()).toBe("before");
  await writeFile(saslPasswordFile, "after\n");
  expect(password()).toBe("after");
  await writeFile(saslPasswordFile, "");
  expect(password()).toBe("after");
  await rm(saslPasswordFile);
  expect([password(), password()]).toEqual(["after", "after"]);
  const warnings = logger.lines.filter(({ level }) => level === "warn");
  expect(warnings).toHaveLength(1);
  expect(JSON.stringify(warnings)).not.toContain("after\\n");
});
