# Behind child.sh: the child's slice of a command list, line by line.

_list=$LIST_FILE_S3_PATH
_keep=$BATCHCTL_KEEP_GOING
_total=0
for _line in $_text; do
	case $_line in
	+*) _total=$((_total+1)) ;;
	list*) _list=${_line#* } ;;
	keep*) _keep=1 ;;
	esac
done
# A list that is elsewhere is read once, and its lines marked as in a document.
[ $_total = 0 ] && [ "$_list" ] && {
	_get "$_list"
	_text=`printf %s "$_text" | _lines +%s`
	set -- $_text
	_total=$#
}
_from=$((_total*_cell/_size))
_size=$((_total*(_cell+1)/_size))
[ $_from -lt $_size ] || _say "no lines for child $_cell: the list has $_total"

_cr=`printf '\r'`
_k=0
_exit=0
_asked=
# $! is the process of the running line as soon as it has started. A signal before that
# finds no process, so the line below its start checks _asked.
trap '_asked=1 _again=1;kill $! 2>&-' TERM
for _line in $_text; do
	case $_line in
	+*) _k=$((_k+1)) ;;
	*) continue ;;
	esac
	[ $_k -gt $_from ] && [ $_k -le $_size ] || continue
	[ "$_asked" ] && {
		_say "asked to end: lines $_k to $_size are not run"
		[ $_exit = 0 ] && _exit=143
		break
	}
	_say "line $_k of $_total"
	_line=${_line%"$_cr"}
	sh -c -- "${_line#?}" </dev/null &
	[ "$_asked" ] && kill $!
	# A signal ends wait, too. The line may have ended by then, and wait may not know it
	# any more.
	_v=127
	while
		_again=
		wait $!
		_code=$?
		[ $_code = 127 ] || _v=$_code
		[ "$_again" ]
	do :; done
	[ $_v = 0 ] && continue
	_say "line $_k of $_total failed with exit code $_v"
	[ $_exit = 0 ] && _exit=$_v
	[ "$_keep" = 1 ] || break
done
exit $_exit
