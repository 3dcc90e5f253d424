// Fair queueing of pages by namespace: no namespace delays another with many or slow pages.
import type { Target } from "./ports/ports.ts";

/** Pages named by an operator or belonging to the node count as one namespace, which goes first. */
const OPERATOR = "";

interface Share {
  readonly waiting: Target[];
  underWay: number;
  bytes: number;
}

/** The first `count` targets in turns of namespaces, the operator's first; otherwise in the given order. */
export function fairFirst(targets: readonly Target[], count: number): Target[] {
  if (targets.length <= count) return [...targets];
  const turns = new Map<string, number>();
  const ranked = targets.map((target, index) => {
    const { namespace = OPERATOR } = target;
    const turn = namespace === OPERATOR ? -1 : (turns.get(namespace) ?? 0);
    turns.set(namespace, turn + 1);
    return { target, turn, index };
  });
  const first = new Set(
    ranked
      .sort((a, b) => a.turn - b.turn || a.index - b.index)
      .slice(0, count)
      .map(({ target }) => target),
  );
  return targets.filter((target) => first.has(target));
}

/** Takes from namespaces below an equal share of bytes, fewest pages in flight first. Work-conserving. */
export class FairQueue {
  readonly #shares = new Map<string, Share>();
  readonly #bytesEach: number;

  constructor(targets: readonly Target[], maxBytes: number) {
    for (const target of targets) {
      const { namespace = OPERATOR } = target;
      const share = this.#shares.get(namespace) ?? { waiting: [], underWay: 0, bytes: 0 };
      share.waiting.push(target);
      this.#shares.set(namespace, share);
    }
    this.#bytesEach = maxBytes / Math.max(1, this.#shares.size);
  }

  /**
   * Undefined if nothing waits.
   * @param prefers pages to take first, but not before another namespace's fair share
   */
  next(prefers: (target: Target) => boolean): Target | undefined {
    const shares = this.#inTurn();
    const [first] = shares;
    if (first === undefined) return undefined;
    for (const share of shares) {
      if (this.#isOver(share) && !this.#isOver(first)) break;
      const index = share.waiting.findIndex(prefers);
      if (index >= 0) return taken(share, index);
    }
    return taken(first, 0);
  }

  ended({ namespace = OPERATOR }: Target, bytes: number): void {
    const share = this.#shares.get(namespace);
    if (share === undefined) return;
    share.underWay--;
    share.bytes += bytes;
  }

  #isOver({ bytes }: Share): boolean {
    return bytes >= this.#bytesEach;
  }

  #inTurn(): Share[] {
    const operator = this.#shares.get(OPERATOR);
    return [...this.#shares.values()]
      .filter(({ waiting }) => waiting.length > 0)
      .sort(
        (a, b) =>
          Number(b === operator) - Number(a === operator) ||
          Number(this.#isOver(a)) - Number(this.#isOver(b)) ||
          a.underWay - b.underWay ||
          a.bytes - b.bytes,
      );
  }
}

function taken(share: Share, index: number): Target | undefined {
  share.underWay++;
  return share.waiting.splice(index, 1)[0];
}
