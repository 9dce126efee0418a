import { createSubscriber } from 'svelte/reactivity';

import { now } from './clock';

/** The present, in milliseconds; who shows it is told anew every so many. */
export function ticking(every: number): () => number {
  const seen = createSubscriber((tell) => {
    const timer = setInterval(tell, every);
    return () => clearInterval(timer);
  });
  return () => (seen(), now());
}

/** The present, anew each second. */
export const present = ticking(1000);
