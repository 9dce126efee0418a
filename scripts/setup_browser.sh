# Makes sure that there is a Chromium for the tests of the page; sourced by ./test. Says so where it cannot be had.
if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing chromium for the tests of the page (once) ..." >&2
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 || true
  fi
  command -v chromium >/dev/null ||
    echo "note: there is no chromium and it could not be installed; the tests that need a browser are skipped" >&2
fi
