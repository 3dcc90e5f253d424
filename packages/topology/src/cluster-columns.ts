// The cluster graph as columns: a tenth of the text and parse time, for drawing.
import type { ClusterColumns } from "./operation-schema.ts";
import type { ClusterGraphSnapshot, Link } from "./schema.ts";

/** Rounds to microseconds: no measurement is finer, and digits dominate the text. */
const milliseconds = (value: number | null): number | null => rounded(value, 1000);
const seconds = (value: number | null): number | null => rounded(value, 10);
const ratio = (value: number | null): number | null => rounded(value, 100_000);

function rounded(value: number | null, steps: number): number | null {
  return value === null ? null : Math.round(value * steps) / steps;
}

export function clusterColumnsOf(graph: ClusterGraphSnapshot): ClusterColumns {
  const {
    links,
    nextCursor: _nextCursor,
    ...head
  } = graph as ClusterGraphSnapshot & { nextCursor?: unknown };
  const ids = new Map(head.nodes.map(({ name }, index) => [name, index]));
  const known = links.filter(({ source, target }) => ids.has(source) && ids.has(target));
  const [methods, origins] = [new Words(), new Words()];
  const column = <T>(of: (link: Link) => T): T[] => known.map(of);
  return {
    ...head,
    links: {
      source: column(({ source }) => ids.get(source)!),
      target: column(({ target }) => ids.get(target)!),
      method: column(({ method }) => methods.indexOf(method)),
      ipFamily: column(({ ipFamily }) => ipFamily),
      origin: column(({ origin }) => origins.indexOf(origin)),
      provisional: column(({ provisional }) => (provisional ? 1 : 0)),
      p50Ms: column(({ rttMs }) => milliseconds(rttMs.p50)),
      p90Ms: column(({ rttMs }) => milliseconds(rttMs.p90)),
      p99Ms: column(({ rttMs }) => milliseconds(rttMs.p99)),
      count: column(({ rttMs }) => rttMs.count),
      lossRatio: column(({ lossRatio }) => ratio(lossRatio)),
      costMs: column(({ costMs }) => milliseconds(costMs)),
      errorMs: column(({ errorMs }) => milliseconds(errorMs)),
      ageSeconds: column(({ ageSeconds }) => seconds(ageSeconds)),
      methods: methods.list,
      origins: origins.list,
    },
  };
}

class Words {
  readonly list: string[] = [];
  readonly #indices = new Map<string, number>();

  indexOf(word: string): number {
    let index = this.#indices.get(word);
    if (index === undefined) {
      index = this.list.length;
      this.#indices.set(word, index);
      this.list.push(word);
    }
    return index;
  }
}
