import { reasonOf } from "@isochrone/primitives";
import type { Random } from "@isochrone/runtime";
import { parseAddress } from "../domain/ip.ts";
import { Keyring } from "../domain/keyring.ts";
import { errnoOf } from "../engine/sockets.ts";
import type { PacketKey } from "../ports/ports.ts";
import type { Listener, ListenerFactory } from "./listener.ts";
import type { FromResponder, ResponderConfig, ToResponder } from "./messages.ts";
import { Responder } from "./responder.ts";

/** Time for which a replaced key is accepted: peers change keys at different moments. Milliseconds. */
const RETIRED_KEY_MS = 60_000;

interface ResponderHostDeps {
  readonly listeners: ListenerFactory;
  readonly monotonic: () => number;
  readonly random: Random;
  post(message: FromResponder): void;
}

interface Member {
  readonly responder: Responder;
  readonly keys: Keyring;
  readonly ports: Listener[];
  forgetKeysAtMs: number;
  work: Promise<void>;
}

export class ResponderHost {
  readonly #deps: ResponderHostDeps;
  readonly #members = new Map<number, Member>();

  constructor(deps: ResponderHostDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#members.size;
  }

  handle(message: ToResponder): void {
    if (message.type === "open") {
      this.#open(message.id, message.config);
      return;
    }
    const member = this.#members.get(message.id);
    if (member === undefined) return;
    if (message.type === "keys") this.#setKeys(member, message.keys, message.signingKeyId);
    else this.#close(message.id, member);
  }

  sweep(): void {
    const nowMs = this.#deps.monotonic();
    for (const [id, member] of this.#members) {
      for (const port of member.ports) port.sweep(nowMs);
      if (nowMs >= member.forgetKeysAtMs) {
        member.keys.forgetRetired();
        member.forgetKeysAtMs = Number.POSITIVE_INFINITY;
      }
      this.#report(id, member);
    }
  }

  #open(id: number, config: ResponderConfig): void {
    let member: Member;
    try {
      member = this.#memberOf(config);
    } catch (error) {
      this.#failed(id, error);
      return;
    }
    this.#members.set(id, member);
    this.#enqueue(member, async () => {
      try {
        this.#deps.post({ type: "opened", id, ...(await this.#listen(member, config)) });
      } catch (error) {
        this.#members.delete(id);
        await closeAll(member);
        this.#failed(id, error);
      }
    });
  }

  #memberOf(config: ResponderConfig): Member {
    const identity = parseAddress(config.identity);
    if (identity === null) {
      throw new RangeError(`identity must be an IP address, got ${JSON.stringify(config.identity)}`);
    }
    const keys = new Keyring(config.keys, config.signingKeyId);
    const { monotonic, random } = this.#deps;
    const responder = new Responder({ config, keys, identity, monotonic, random });
    return { responder, keys, ports: [], forgetKeysAtMs: Number.POSITIVE_INFINITY, work: Promise.resolve() };
  }

  async #listen(
    { responder, ports }: Member,
    { bindAddress: address, udpPort, tcpPort }: ResponderConfig,
  ): Promise<{ udpPort: number; tcpPort: number }> {
    const udp = await this.#deps.listeners.openUdp(responder, { address, port: udpPort });
    ports.push(udp);
    const tcp = await this.#deps.listeners.openTcp(responder, { address, port: tcpPort });
    ports.push(tcp);
    return { udpPort: udp.port, tcpPort: tcp.port };
  }

  #setKeys(member: Member, keys: readonly PacketKey[], signingKeyId: number): void {
    try {
      member.keys.replace(keys, signingKeyId);
      member.forgetKeysAtMs = this.#deps.monotonic() + RETIRED_KEY_MS;
    } catch (error) {
      this.#fault(error);
    }
  }

  #close(id: number, member: Member): void {
    this.#enqueue(member, async () => {
      await closeAll(member);
      this.#report(id, member);
      this.#members.delete(id);
      this.#deps.post({ type: "closed", id });
    });
  }

  #report(id: number, { responder }: Member): void {
    const snapshot = responder.drain();
    if (snapshot.answered > 0 || Object.keys(snapshot.refused).length > 0)
      this.#deps.post({ type: "report", id, snapshot });
  }

  #enqueue(member: Member, run: () => Promise<void>): void {
    member.work = member.work.then(run).catch((error: unknown) => this.#fault(error));
  }

  #failed(id: number, error: unknown): void {
    this.#deps.post({ type: "failed", id, message: reasonOf(error), errno: errnoOf(error) });
  }

  #fault(error: unknown): void {
    this.#deps.post({ type: "fault", message: reasonOf(error) });
  }
}

async function closeAll({ ports }: Member): Promise<void> {
  await Promise.all(ports.splice(0).map((port) => port.close()));
}
