// Child process of kernel-echoes.test.ts, in its own network namespace: two probers with the same id on raw
// sockets, which both see every reply. One targets a dead address, the other a live one. Prints the outcomes
// as JSON.
import { execFileSync } from "node:child_process";
import { loadLibc } from "@isochrone/kernel-sockets";
import type { EchoHandlers } from "../echo-port.ts";
import { KernelEchoes } from "../kernel-echoes.ts";

const ROUNDS = 10_000;
const BATCH = 20;
const ID = 4711;
const DEAD = "10.9.0.2";
const ALIVE = "127.0.0.1";

class Counts implements EchoHandlers {
  accepted = 0;
  refused = 0;
  replies = 0;
  fromElsewhere = 0;
  corrupt = 0;
  readonly #target: string;

  constructor(target: string) {
    this.#target = target;
  }
  onAccepted(): void {
    this.accepted++;
  }
  onRefused(): void {
    this.refused++;
  }
  onDeparted(): void {}
  onReply(_number: number, { source }: { readonly source: string }): void {
    if (source === this.#target) this.replies++;
    else this.fromElsewhere++;
  }
  onCorrupt(): void {
    this.corrupt++;
  }
  onUnreachable(): void {}
  onClockStep(): void {}
}

for (const command of [
  "link set lo up",
  "link add hole type veth peer name end",
  "link set hole up",
  "link set end up",
  "addr add 10.9.0.1/24 dev hole",
  "neigh add 10.9.0.2 lladdr 02:00:00:00:00:77 dev hole",
]) {
  execFileSync("ip", command.split(" "));
}

const libc = await loadLibc();
const sameNonce = process.argv[2] === "same-nonce";
const identity = { id: ID, modes: ["raw"] as const };
const asker = new KernelEchoes(libc, { ...identity, nonce: 1n << 40n });
const other = new KernelEchoes(libc, { ...identity, nonce: sameNonce ? 1n << 40n : 1n << 41n });
const [ofAsker, ofOther] = [new Counts(DEAD), new Counts(ALIVE)];
asker.drain(ofAsker);
other.drain(ofOther);
const dead = asker.open({ address: DEAD, family: 4, dscp: 0, payloadBytes: 56 });
const alive = other.open({ address: ALIVE, family: 4, dscp: 0, payloadBytes: 56 });
for (let number = 0; number < ROUNDS;) {
  for (const end = number + BATCH; number < end; number++) {
    dead.queue(number);
    alive.queue(number);
  }
  asker.flush(ofAsker);
  other.flush(ofOther);
  asker.wait(0);
  asker.drain(ofAsker);
  other.wait(0);
  other.drain(ofOther);
}
for (let quiet = 0; quiet < 5; quiet++) {
  asker.wait(20);
  asker.drain(ofAsker);
  other.wait(0);
  other.drain(ofOther);
}
console.log(JSON.stringify({ asker: ofAsker, other: ofOther }));
asker.close();
other.close();
