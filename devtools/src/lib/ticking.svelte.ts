import { now as present } from './clock';

/** The present, told anew every so many milliseconds while something goes on; for use where a component is made. */
export function ticking(every: number, goes: () => boolean = () => true): { readonly now: number } {
  let now = $state(present());
  $effect(() => {
    if (!goes()) return;
    const timer = setInterval(() => (now = present()), every);
    return () => clearInterval(timer);
  });
  return {
    get now() {
      return now;
    },
  };
}
