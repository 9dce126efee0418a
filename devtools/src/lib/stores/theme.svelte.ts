/** Light or dark: as the system prefers until a person chooses. */

export type Choice = 'system' | 'light' | 'dark';
const KEY = 'loopwright-theme';
const dark = window.matchMedia('(prefers-color-scheme: dark)');

class Theme {
  choice = $state<Choice>((localStorage.getItem(KEY) as Choice | null) ?? 'system');
  shown = $state<'light' | 'dark'>('light');

  constructor() {
    this.#apply();
    dark.addEventListener('change', () => this.#apply());
  }

  /** Go to the next choice: system, light, dark. */
  next(): void {
    this.choice = this.choice === 'system' ? 'light' : this.choice === 'light' ? 'dark' : 'system';
    localStorage.setItem(KEY, this.choice);
    this.#apply();
  }

  #apply(): void {
    this.shown = this.choice === 'system' ? (dark.matches ? 'dark' : 'light') : this.choice;
    document.documentElement.dataset.theme = this.shown;
  }
}

export const theme = new Theme();
