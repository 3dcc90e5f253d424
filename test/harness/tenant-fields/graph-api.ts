import { startAggregator } from "@isochrone/aggregator/testing";
import { headTrial } from "./raw.ts";
import { textOf, type Outcome, type Trials } from "./trial.ts";

const NODES = 200;
const BUILT_MS = 5_000;
const GRAPH = "/api/v1/graph";

export async function graphApiTrials(): Promise<Trials> {
  const running = await startAggregator();
  for (let at = 0; at < NODES; at++)
    await running.store.create({ apiVersion: "v1", kind: "Node", metadata: { name: `n${at}` } });
  await running.clock.advance(BUILT_MS);
  const { url } = running.aggregator.address();
  /** The API accepts everything except a parameter that the error names, and an overlong request head. */
  const asked = async (path: string, parameter: string): Promise<Outcome> => {
    const response = await fetch(url + path);
    const text = await response.text();
    const isCut = response.status === 431 || (response.status === 400 && text.includes(parameter));
    return { isCut, named: isCut ? `${response.status} ${text}` : null };
  };
  const graphs = `${GRAPH}/workflows?include=graphs`;
  const trials: Trials["trials"] = {
    "`limit` of links": (amount) => asked(`${GRAPH}/cluster?limit=${amount}`, "limit"),
    "`limit` of workflows": (amount) => asked(`${graphs}&limit=${amount}`, "limit"),
    "`limit` of the bill": (amount) => asked(`${GRAPH}/bill?limit=${amount}`, "limit"),
    "`cursor`": (amount) => asked(`${graphs}&cursor=${cursorOf(amount)}`, "cursor"),
    "`since`": (amount) => asked(`${graphs}&since=${textOf(amount)}`, "since"),
    "`source`, `target` of a link": (amount) =>
      asked(`${GRAPH}/link?source=${textOf(amount)}&target=b`, "source"),
    "`nodes` with `include=estimated`": (amount) => {
      const names = Array.from({ length: amount }, (_, at) => `n${at}`).join(",");
      return asked(`${GRAPH}/cluster?include=estimated&nodes=${names}`, "nodes");
    },
    "head of a request to the graph API": (amount) =>
      headTrial(Number(new URL(url).port), { path: `${GRAPH}/cluster`, host: new URL(url).host }, amount),
  };
  return { trials, stop: () => running.stop() };
}

/** A cursor text of at least this length. */
function cursorOf(characters: number): string {
  return Buffer.from(textOf(Math.ceil((characters * 3) / 4), `["a","`, `"]`)).toString("base64url");
}
