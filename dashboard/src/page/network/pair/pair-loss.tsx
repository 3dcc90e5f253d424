import type { Link, LinkHistory } from "@isochrone/topology";
import type { VNode } from "preact";
import { clockTime, percent, plural } from "../../model/format.ts";
import { nowMs } from "../../state/store.ts";
import { METHOD_NAMES } from "./pair-model.ts";

const WIDTH = 600;
const HEIGHT = 44;

/** Replaces the distribution if nothing came back. */
export function LostPackets({ links }: { readonly links: readonly Link[] }): VNode {
  const measured = links.filter(({ lossRatio }) => lossRatio !== null);
  return (
    <div class="loss">
      <p class="soft">No answer, so there are no round trips to show. Of the packets that were sent:</p>
      <dl>
        {measured.map(({ method, ipFamily, lossRatio }) => (
          <div key={`${method} ${ipFamily}`}>
            <dt>{METHOD_NAMES[method] ?? method}</dt>
            <dd>
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect class="answered" width={100} height={10} />
                <rect class="lost" width={100 * lossRatio!} height={10} />
              </svg>
              {percent(lossRatio)} lost
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

export function LossOverTime({ past }: { readonly past: LinkHistory | null }): VNode | null {
  const points = (past?.points ?? []).filter(({ lossRatio }) => lossRatio !== null);
  const lossy = points.filter(({ lossRatio }) => lossRatio! > 0);
  if (lossy.length === 0) return null;
  const [first, last] = [Date.parse(points[0]!.at), Date.parse(points.at(-1)!.at)];
  const step = WIDTH / Math.max(1, points.length);
  const x = (at: string): number => ((Date.parse(at) - first) / Math.max(1, last - first)) * (WIDTH - step);
  const most = Math.max(...lossy.map(({ lossRatio }) => lossRatio!));
  const words = `Loss over the kept history: at ${lossy.length} of ${plural(points.length, "moment")}, ${percent(most)} at most`;
  return (
    <figure class="loss-over-time">
      <figcaption>{words}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={words}>
        <line class="base" x1={0} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
        {lossy.map(({ at, lossRatio }) => (
          <rect
            key={at}
            class="lost"
            x={x(at).toFixed(1)}
            y={(HEIGHT - Math.max(2, lossRatio! * HEIGHT)).toFixed(1)}
            width={(Math.max(1, step) + 0.5).toFixed(1)}
            height={Math.max(2, lossRatio! * HEIGHT).toFixed(1)}
          >
            <title>{`${clockTime(at, nowMs.value)}: ${percent(lossRatio)} lost`}</title>
          </rect>
        ))}
      </svg>
    </figure>
  );
}
